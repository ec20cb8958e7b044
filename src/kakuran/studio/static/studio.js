"use strict";
/* The page as a whole: its steps, what is known so far, and how a step is drawn again without losing one's place. */
(() => {
  const { element, say } = Page;
  const STEPS = { load: Load, public: Public, choose: Choose, release: Releasing, read: Reading };
  const NEEDS_TABLE = new Set(["public", "choose", "release"]);
  const screen = document.getElementById("screen");
  const alertLine = document.getElementById("alert");
  const busyLine = document.getElementById("busy");
  const TEXT = "input:not([type=radio]):not([type=checkbox]):not([type=range]), textarea";
  let step = "load";
  let isPressed = false;
  let last = Promise.resolve(); // what was asked for before, be it granted or refused
  let isOwed = false; // whether the step is to be drawn once all that was asked for is answered

  const studio = {
    state: null,
    made: null, // the release that was written last
    opened: null, // the release that is read
    answer: null,
    go,
    draw,
    change,
    settled,
    busy,
    complain,
    calm: () => Page.tell(alertLine, ""),
  };

  function complain(fault) {
    Page.tell(alertLine, fault.code === 401 ? say("locked") : fault.message);
    if (!(fault instanceof Calls.Refused)) throw fault;
    alertLine.scrollIntoView({ block: "nearest" });
  }

  /**
   * Call something that changes what is known, once all before it is answered; what is shown follows the last. What is
   * refused is said above everything, unless `refused` has a better place for it.
   */
  async function change(name, given, shouldDraw = true, refused = complain) {
    const asked = last.then(() => Calls.callLong(name, given, busy));
    const mine = (last = asked.catch(() => {}));
    let fault = null;
    try {
      studio.state = await asked;
      studio.calm();
    } catch (found) {
      fault = found;
      refused(fault);
    }
    isOwed ||= shouldDraw || fault !== null;
    if (mine !== last) return !fault;
    if (isOwed) await draw();
    else keepingPlace(drawAround);
    return !fault;
  }

  /** Wait until all that was said is known, and shown. */
  async function settled() {
    for (let seen = null; seen !== last; ) await (seen = last);
    if (isOwed) await draw();
  }

  /** Say how far everything is that takes its time; nothing once it is over. */
  function busy(progress) {
    if (!progress) return busyLine.replaceChildren();
    const shown = ({ what, done, total }) => {
      const words = what ? say(`busy.${what}`) : say("busy");
      const bar = { max: total || null, value: total ? Math.min(done, total) : null, "aria-label": words };
      return [element("p", {}, words), element("progress", bar)];
    };
    busyLine.replaceChildren(...(progress.length ? progress : [{}]).flatMap(shown));
  }

  function go(to) {
    if (NEEDS_TABLE.has(to) && !studio.state.opened) return;
    step = to;
    studio.calm();
    draw();
    screen.focus({ preventScroll: true });
    scrollTo({ top: 0 });
  }

  /** Draw the step. A click that has begun and words half written are not drawn away. */
  async function draw() {
    while (isPressed || isWriting()) await new Promise((done) => setTimeout(done, 20));
    isOwed = false;
    keepingPlace(() => {
      drawAround();
      screen.replaceChildren(...[STEPS[step].draw(studio)].flat(Infinity).filter(Boolean));
    });
  }

  /** Whether something stands in a field, or on a handle, that was not yet said. */
  function isWriting() {
    const at = document.activeElement;
    return at?.matches(TEXT) ? at.value !== at.defaultValue : Boolean(at?.matches(".moved"));
  }

  /**
   * Whatever had the focus has it again after drawing, where it was on the screen, with the same words selected; pictures
   * come a moment later. Of what is not there any more, its card stays where it was.
   */
  function keepingPlace(draws) {
    const { id, selectionStart, selectionEnd } = document.activeElement ?? {};
    const stay = [id, document.activeElement?.closest(".card")?.querySelector("h2[id]")?.id]
      .filter((one) => one && one !== "screen")
      .map((one) => [one, document.getElementById(one).getBoundingClientRect().top]);
    draws();
    const [still, top] = stay.find(([one]) => document.getElementById(one)) ?? [];
    if (still) scrollBy({ top: document.getElementById(still).getBoundingClientRect().top - top, behavior: "instant" });
    if (!id || id === "screen") return;
    const focus = () => {
      const again = document.getElementById(id);
      if (!again || again === document.activeElement) return;
      again.focus({ preventScroll: true });
      if (Number.isInteger(selectionStart)) again.setSelectionRange(selectionStart, selectionEnd);
    };
    focus();
    const isLost = () => document.activeElement === document.body;
    requestAnimationFrame(() => requestAnimationFrame(() => isLost() && focus()));
  }

  function drawAround() {
    const { state } = studio;
    document.title = `${say(`step.${step}`)} · kakuran studio`;
    document.getElementById("steps").setAttribute("aria-label", say("steps"));
    document.getElementById("steps").replaceChildren(
      element(
        "ol",
        {},
        Object.keys(STEPS).map((name, place) =>
          element(
            "li",
            {},
            element(
              "button",
              {
                type: "button",
                id: `step-${name}`,
                "aria-current": name === step ? "step" : null,
                disabled: NEEDS_TABLE.has(name) && !state.opened,
                onclick: () => go(name),
              },
              element("span", { class: "place" }, String(place + 1)),
              say(`step.${name}`),
            ),
          ),
        ),
      ),
    );
    document.getElementById("history").replaceChildren(
      ...(state.opened ? ["undo", "redo"] : []).map((name) =>
        element(
          "button",
          {
            type: "button",
            id: name,
            class: "secondary small-button",
            disabled: !state[`can_${name}`],
            onclick: () => change(name),
          },
          say(name),
        ),
      ),
    );
  }

  /** Ctrl-Z takes back what was said of the table, unless somebody is writing. */
  function shortcut(event) {
    if (event.target.matches(TEXT) || !(event.ctrlKey || event.metaKey) || !studio.state?.opened) return;
    const name = { z: event.shiftKey ? "redo" : "undo", y: "redo" }[event.key.toLowerCase()];
    if (!name) return;
    event.preventDefault();
    if (studio.state[`can_${name}`]) change(name);
  }

  async function open() {
    Calls.takeSecret();
    Page.offerLanguages(Object.keys(Texts), () => studio.state && draw());
    addEventListener("pointerdown", () => (isPressed = true), { capture: true });
    for (const end of ["pointerup", "pointercancel"])
      addEventListener(end, () => setTimeout(() => (isPressed = false)), { capture: true });
    addEventListener("change", ({ target }) => target.matches(TEXT) && (target.defaultValue = target.value), { capture: true });
    addEventListener("keydown", shortcut);
    try {
      studio.state = await Calls.call("state");
      if (studio.state.opened) step = "load";
      draw();
    } catch (fault) {
      complain(fault);
    }
  }

  open();
})();
