/* Runs in the browser, on the page of a console: a terminal whose shell outlives the connection. */
'use strict';

// The policy allows only this page's own styles. The nonce marks those that the terminal makes.
const { nonce } = document.currentScript;
const createElement = document.createElement.bind(document);
document.createElement = (name, options) => {
  const element = createElement(name, options);
  if (name === 'style') element.nonce = nonce;
  return element;
};

const place = document.getElementById('terminal');
const { attach, container } = place.dataset;
const statusLine = document.getElementById('status');
const againButton = document.getElementById('again');
const endButton = document.getElementById('end');

/**
 * The service pings every 15 seconds. After this long the connection is dead, whatever the browser
 * believes.
 */
const silenceMs = 40_000;
const retryMs = [250, 500, 1000, 2000, 4000];
/** In UTF-16 units. Each unit is three bytes at most, and a call takes 64 KiB. */
const inputMax = 20_000;

/** What ends the console for good. */
class Ended extends Error {}

const terminal = new Terminal({
  cursorBlink: true,
  fontFamily: 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSize: 14,
  scrollback: 5000,
  theme: { background: '#0f141b', foreground: '#e6eaf0' },
});
const fit = new FitAddon.FitAddon();

function say(text, bad = false) {
  statusLine.textContent = text;
  statusLine.toggleAttribute('data-bad', bad);
}

async function refusalOf(response) {
  try {
    return (await response.json()).detail;
  } catch {
    return `Status ${response.status}.`; // The answer may be a proxy's page.
  }
}

/** One console, from its opening to its end. */
class Console {
  // A reloaded page returns to its shell by this key.
  #key = `console ${attach} ${container}`;
  #sessionId = sessionStorage.getItem(this.#key);
  #seen = false;
  #input = '';
  #size = null;
  #sending = false;
  #ended = false;
  /** The output that is written now was shown before, and questions in it were answered then. */
  #replaying = false;
  #connection = null;

  get ended() {
    return this.#ended;
  }

  async run() {
    let failures = 0;
    while (!this.#ended) {
      try {
        await this.#follow(() => (failures = 0));
      } catch (error) {
        if (error instanceof Ended) {
          this.#end(error.message, true);
          return;
        }
      }
      if (this.#ended) return;
      say('The connection is lost; coming back to it…', true);
      await this.#pause(retryMs[Math.min(failures++, retryMs.length - 1)]);
    }
  }

  type(text) {
    if (this.#replaying) return;
    this.#input += text;
    void this.#send();
  }

  resize(size) {
    this.#size = size;
    void this.#send();
  }

  async close() {
    const id = this.#sessionId;
    this.#end('Ended.');
    if (id) await fetch(`${attach}?sessionId=${id}`, { method: 'DELETE' }).catch(() => undefined);
  }

  /** The network is gone or back, so the calls under way are useless. */
  interrupt() {
    this.#connection?.abort();
  }

  /** Reads one stream to its end. */
  async #follow(opened) {
    const connection = new AbortController();
    this.#connection = connection;
    let timer;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => connection.abort(), silenceMs);
    };
    try {
      heard();
      const response = await this.#get(connection.signal);
      opened();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        heard();
        const events = (rest + value).split('\n\n');
        rest = events.pop();
        for (const event of events) this.#hear(event);
      }
    } finally {
      clearTimeout(timer);
      this.#connection = null;
    }
  }

  async #get(signal) {
    const query = new URLSearchParams({ cols: terminal.cols, rows: terminal.rows });
    if (container) query.set('container', container);
    if (this.#sessionId) query.set('sessionId', this.#sessionId);
    const response = await fetch(`${attach}?${query}`, { signal, cache: 'no-store' });
    if (response.ok) return response;
    const refusal = await refusalOf(response);
    if (this.#sessionId && response.status === 404 && !this.#seen) {
      // The shell of an earlier page is gone; this opens a new one.
      this.#forget();
      return this.#get(signal);
    }
    // The service is busy or being restarted.
    if (response.status >= 500) throw new Error(refusal);
    throw new Ended(refusal);
  }

  #hear(text) {
    if (text.startsWith(': live\n')) {
      // The terminal calls back once it has shown all that was written before.
      terminal.write('', () => (this.#replaying = false));
      return;
    }
    const fields = new Map();
    for (const line of text.split('\n')) {
      const colon = line.indexOf(': ');
      if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 2));
    }
    if (!fields.has('event')) return;
    const data = JSON.parse(fields.get('data'));
    switch (fields.get('event')) {
      case 'session':
        // A page that returns to a shell gets that shell's last output again.
        this.#replaying = data === this.#sessionId;
        this.#sessionId = data;
        this.#seen = true;
        sessionStorage.setItem(this.#key, data);
        terminal.reset();
        say('Connected');
        endButton.hidden = false;
        void this.#send();
        return;
      case 'data':
        terminal.write(data);
        return;
      case 'exit':
        this.#end('Ended.');
        return;
      case 'failure':
        this.#end(data, true);
    }
  }

  /** Sends one call at a time, so that keys arrive in the order they were typed. */
  async #send() {
    if (this.#sending || !this.#sessionId) return;
    this.#sending = true;
    try {
      while (!this.#ended && this.#sessionId && (this.#size || this.#input)) {
        if (!(await this.#post(this.#take()))) return;
      }
    } finally {
      this.#sending = false;
    }
  }

  #take() {
    const sessionId = this.#sessionId;
    if (this.#size) {
      const resize = this.#size;
      this.#size = null;
      return { sessionId, resize };
    }
    const last = this.#input.charCodeAt(inputMax - 1);
    // The cut must not separate the halves of one character.
    const length = last >= 0xd800 && last <= 0xdbff ? inputMax - 1 : inputMax;
    const data = this.#input.slice(0, length);
    this.#input = this.#input.slice(length);
    return { sessionId, data };
  }

  /** Returns whether more may follow at once. */
  async #post(body) {
    let response;
    try {
      response = await fetch(attach, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    } catch {
      // Nobody knows whether the input arrived. Typing it twice would be worse than losing it.
      this.interrupt();
      return false;
    }
    if (response.status === 429 && body.data) {
      this.#input = body.data + this.#input;
      await this.#pause(1000);
      return true;
    }
    if (!response.ok && response.status !== 404) say(await refusalOf(response), true);
    return response.ok;
  }

  /** Waits; the return of the network ends the pause early. */
  #pause(ms) {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        removeEventListener('online', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      addEventListener('online', done);
    });
  }

  #forget() {
    this.#sessionId = null;
    sessionStorage.removeItem(this.#key);
  }

  #end(text, bad = false) {
    if (this.#ended) return;
    this.#ended = true;
    this.#forget();
    say(text, bad);
    endButton.hidden = true;
    againButton.hidden = false;
    terminal.options.cursorBlink = false;
    this.interrupt();
  }
}

let current = null;

function begin() {
  againButton.hidden = true;
  terminal.options.cursorBlink = true;
  terminal.reset();
  say('Connecting…');
  current = new Console();
  void current.run();
  terminal.focus();
}

terminal.loadAddon(fit);
place.textContent = '';
terminal.open(place);
fit.fit();
new ResizeObserver(() => fit.fit()).observe(place);
terminal.onData((text) => current?.type(text));
terminal.onResize(({ cols, rows }) => current?.resize({ cols, rows }));
addEventListener('offline', () => current?.interrupt());
againButton.addEventListener('click', begin);
endButton.addEventListener('click', () => current?.close());
begin();
