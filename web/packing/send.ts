/** Owns sending an archive for an app, with progress, which `fetch` does not tell. */
import { ApiError } from '../api/errors.ts';

interface SendOptions {
  appId: string;
  filename: string;
  archive: Blob;
  onProgress?: (sent: number, total: number) => void;
  signal?: AbortSignal;
}

/** Resolves once it is stored; the app is built from it by its next deployment. */
export function sendArchive(options: SendOptions): Promise<void> {
  const { appId, filename, archive, onProgress, signal } = options;
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const stop = (): void => request.abort();
    signal?.addEventListener('abort', stop, { once: true });
    request.upload.onprogress = ({ loaded, total }) => onProgress?.(loaded, total);
    request.onload = () => (request.status === 200 ? resolve() : reject(problemIn(request)));
    request.onerror = () => reject(new ApiError('NETWORK', 'The archive could not be sent.', null));
    request.onabort = () => reject(new DOMException('Canceled', 'AbortError'));
    request.onloadend = () => signal?.removeEventListener('abort', stop);
    request.open('POST', `/api/apps/${encodeURIComponent(appId)}/upload`);
    request.setRequestHeader('X-Upload-Filename', encodeURIComponent(filename));
    request.send(archive);
  });
}

function problemIn(request: XMLHttpRequest): ApiError {
  const headerId = request.getResponseHeader('x-request-id');
  const fallback = `The server answered ${String(request.status)}.`;
  try {
    const body = JSON.parse(request.responseText) as Record<string, string | undefined>;
    const { code = 'INTERNAL', detail = fallback, requestId = headerId } = body;
    return new ApiError(code, detail, requestId);
  } catch {
    return new ApiError('INTERNAL', fallback, headerId);
  }
}
