"use strict";
/* Sending one message to the server that this page came from. */
const Sending = (() => {
  const PATIENCE = 60; // the most seconds to wait before trying again

  /**
   * Send until it is taken or refused; the same every time, so that nothing counts twice. While the server asks for
   * patience, `waiting` is told every second how many are left.
   */
  async function deliver(message, waiting) {
    for (;;) {
      const reply = await post(message);
      if (reply.status !== 429) return reply;
      const seconds = Math.min(Math.max(Number(reply.headers.get("Retry-After")) || 1, 1), PATIENCE);
      for (let left = seconds; left > 0; left -= 1) {
        waiting(left);
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
      waiting(0);
    }
  }

  async function post(message) {
    try {
      return await fetch("api/responses", {
        method: "POST",
        credentials: "omit", // a cookie would join this with whatever else came from this browser
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(message),
      });
    } catch {
      return { ok: false, status: 0 };
    }
  }

  return Object.freeze({ deliver });
})();
