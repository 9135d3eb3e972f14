// Requests that dash.js gives up are given up, also when it sends CMCD.

/**
 * A part for `player.extend("HTTPLoader", abortingLoader, true)`.
 *
 * The interceptor with which dash.js 5.2.0 and 5.2.1 write CMCD hands on a copy of the request, and
 * what aborts it is then kept with the copy, where the loader does not look for it. A chunk of the
 * rung that was left comes to its end all the same: it takes its share of the link, and goes into
 * the buffer behind the initialisation segment of another rung, on which decoders fail
 * (MEDIA_ERR_DECODE). The loader's other way to its one request ends that request in the same manner.
 * @this {{parent: {abort: () => void, resetInitialSettings: () => void}}}
 */
export function abortingLoader() {
  const { abort, resetInitialSettings } = this.parent;
  return {
    abort() {
      abort();
      resetInitialSettings();
    },
  };
}
