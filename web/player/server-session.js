// The session that the server has for this player: its token, and showing it to the server.

/** The field of answers that brings a session's token, and of requests that shows it. */
const FIELD = "airlane-session";

/**
 * The token comes with the first answer of a session. Requests that show it belong to the session over
 * any connection; without it the server takes a session for over when its connection is lost.
 */
export class ServerSession {
  /** What shows this session; null before it began. */
  token = /** @type {string | null} */ (null);
  #page;

  /** @param {string} page address of the page */
  constructor(page) {
    this.#page = page;
  }

  /** An interceptor of dash.js for answers, which takes the token out of them. */
  receive = (response) => {
    const name = Object.keys(response.headers ?? {}).find((f) => f.toLowerCase() === FIELD);
    if (name !== undefined) this.token = response.headers[name];
    return Promise.resolve(response);
  };

  /**
   * An interceptor of dash.js for requests, which shows the token: to the page's own server alone, since
   * another one would first be asked whether it takes the field (CORS), anew for every address.
   */
  show = (request) => {
    if (this.token !== null && new URL(request.url, this.#page).origin === new URL(this.#page).origin) {
      request.headers = { ...request.headers, [FIELD]: this.token };
    }
    return Promise.resolve(request);
  };
}
