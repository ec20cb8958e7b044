"use strict";
/*
 * What the dashboard asks of the server: with the token that came behind the # of its address, which no server log ever
 * sees; from then on the token is kept for this tab alone.
 */
const Asking = (() => {
  const TOKEN = "kakuran:token";

  class Refused extends Error {
    constructor(problem, code) {
      super(problem.detail ?? problem.title ?? String(code));
      this.code = code;
    }
  }

  const token = () => sessionStorage.getItem(TOKEN);
  const remember = (given) => sessionStorage.setItem(TOKEN, given);
  const forget = () => sessionStorage.removeItem(TOKEN);

  /** Remember the token behind the # of the address, where there is one, and take it off there. */
  function takeToken() {
    if (location.hash.length < 2) return;
    remember(decodeURIComponent(location.hash.slice(1)));
    history.replaceState(null, "", location.pathname + location.search);
  }

  async function ask(path, options = {}) {
    const reply = await fetch(`api/${path}`, { ...options, headers: { Authorization: `Bearer ${token()}` } });
    if (!reply.ok) throw new Refused(await reply.json().catch(() => ({})), reply.status);
    return reply;
  }

  const askJson = async (path, options) => (await ask(path, options)).json();
  const asQuery = (values) => new URLSearchParams(values).toString();

  return Object.freeze({ Refused, token, remember, forget, takeToken, ask, askJson, asQuery });
})();
