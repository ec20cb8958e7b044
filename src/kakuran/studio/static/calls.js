"use strict";
/*
 * What the page asks of its server: with the secret that came behind the # of its address, which is kept for this tab
 * alone. All is asked with POST, so that nothing of the data stands in an address; nothing of it is ever stored.
 */
const Calls = (() => {
  const SECRET = "kakuran:studio";
  const [SOON, OFTEN] = [400, 300]; // milliseconds until it is said how far something is, and between two looks

  class Refused extends Error {
    constructor(detail, code) {
      super(detail);
      this.code = code;
    }
  }

  /** Remember the secret behind the # of the address, where there is one, and take it off there. */
  function takeSecret() {
    if (location.hash.length < 2) return;
    sessionStorage.setItem(SECRET, decodeURIComponent(location.hash.slice(1)));
    history.replaceState(null, "", location.pathname);
  }

  async function call(name, given = {}) {
    let reply;
    try {
      reply = await fetch(`api/${name}`, {
        method: "POST",
        headers: { Authorization: `Bearer ${sessionStorage.getItem(SECRET)}`, "Content-Type": "application/json" },
        body: JSON.stringify({ lang: document.documentElement.lang, ...given }),
      });
    } catch {
      throw new Refused(Page.say("gone"), 0);
    }
    const told = await reply.json().catch(() => ({}));
    if (!reply.ok) throw new Refused(told.detail ?? String(reply.status), reply.status);
    return told;
  }

  /** The same of something that may take long; `tell` is given how far it is, now and then, and nothing at the end. */
  async function callLong(name, given, tell) {
    let isOver = false;
    const look = async () => {
      if (isOver) return;
      const progress = await call("progress").catch(() => []);
      if (isOver) return;
      tell(progress);
      setTimeout(look, OFTEN);
    };
    setTimeout(look, SOON);
    try {
      return await call(name, given);
    } finally {
      isOver = true;
      tell(null);
    }
  }

  /** Of calls that overtake each other, only the last one's answer counts; the others give undefined. */
  function latest(name) {
    let last = 0;
    return async (given) => {
      const mine = ++last;
      const told = await call(name, given);
      return mine === last ? told : undefined;
    };
  }

  return Object.freeze({ Refused, takeSecret, call, callLong, latest });
})();
