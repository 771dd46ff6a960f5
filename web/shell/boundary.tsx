/**
 * Owns what is shown when a page breaks. A page whose script is gone, since a newer version is served, is
 * loaded anew, once.
 */
import { Component, type ReactNode } from 'react';
import { ErrorNote } from '../ui/error-note.tsx';

interface BoundaryProps {
  /** Another value forgets the error, such as another path. */
  at: string;
  children: ReactNode;
}

interface BoundaryState {
  error: unknown;
  at: string;
}

const reloadedKey = 'gangway.reloaded';

export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { error: null, at: this.props.at };

  static getDerivedStateFromError(error: unknown): Partial<BoundaryState> {
    return { error };
  }

  static getDerivedStateFromProps(
    { at }: BoundaryProps,
    state: BoundaryState,
  ): BoundaryState | null {
    return at === state.at ? null : { at, error: null };
  }

  override componentDidCatch(error: unknown): void {
    const isGone = error instanceof TypeError && /import|module/i.test(error.message);
    if (!isGone || sessionStorage.getItem(reloadedKey) !== null) return;
    sessionStorage.setItem(reloadedKey, '1');
    location.reload();
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    return (
      <div className="page page-narrow">
        <ErrorNote error={this.state.error} retry={() => this.setState({ error: null })} />
      </div>
    );
  }
}

/** To be called when a page has loaded: the next one may be loaded anew again. */
export function pageLoaded(): void {
  sessionStorage.removeItem(reloadedKey);
}
