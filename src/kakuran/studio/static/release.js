"use strict";
/* Release: where to, how far it is, what was written, whether it stands, and the script that does the same. */
const Releasing = (() => {
  const { element, say, number } = Page;
  const { field, input, select, button, code, size } = Parts;
  const SHOWN = new Set(["public", "internal"]);

  const check = (id, label, checked) =>
    element("label", { class: "check" }, element("input", { type: "checkbox", id, checked }), label);

  function draw(studio) {
    return [
      element("p", { class: "lead" }, say("release.lead")),
      making(studio),
      studio.made ? made(studio) : null,
    ];
  }

  function making(studio) {
    const { state } = studio;
    const misfits = state.misfits.map(({ message }) => element("p", { class: "error" }, message));
    const release = async (event) => {
      event.preventDefault();
      const target = document.getElementById("target").value;
      const force = document.getElementById("force").checked;
      const reports = document.getElementById("reports").checked;
      const start = document.getElementById("make");
      start.setAttribute("aria-disabled", "true");
      try {
        const ledger = document.getElementById("ledger")?.value ?? "";
        studio.made = await Calls.callLong("release", { target, force, ledger }, studio.busy);
        studio.made.target = target;
        studio.opened = null;
        studio.calm();
        await studio.draw();
        document.getElementById("made-title").focus();
        await finish(studio, reports);
      } catch (fault) {
        start.removeAttribute("aria-disabled");
        studio.complain(fault);
      }
    };
    return element(
      "form",
      { class: "card", "aria-labelledby": "making-title", onsubmit: release },
      element("h2", { id: "making-title" }, say("release.title", { k: Page.plain(state.k) })),
      state.read_off.length ? unsure(studio) : null,
      misfits,
      field("target", say("release.target"), input(studio.made?.target ?? state.targets), say("release.target.help")),
      state.ledgers.length ? ledgers(state.ledgers) : null,
      check("reports", say("release.reports"), true),
      check("force", say("release.force"), false),
      element("button", { class: "primary", type: "submit", id: "make" }, say("release.make")),
    );
  }

  const unsure = (studio) =>
    element(
      "div",
      { class: "notice" },
      element("p", {}, say("release.unsure", { columns: studio.state.read_off.join(", ") })),
      button("back", say("step.public"), () => studio.go("public")),
    );

  /** Where the folder holds a promise over several releases, what this one spends of it is entered there. */
  function ledgers(paths) {
    const options = [...paths.map((path) => [path, path.split(/[/\\]/).at(-1)]), ["", say("ledger.none")]];
    return field("ledger", say("ledger"), select(options, paths[0], () => {}), say("ledger.help"));
  }

  function spent({ people, k, promised_k, epsilon, promised_epsilon }) {
    const of = (now, promised) => (promised === null ? now : say("ledger.of", { now, promised: Page.plain(promised) }));
    const facts = {
      people,
      k: of(k === null ? "∞" : number(k, k % 1 ? 1 : 0), promised_k),
      epsilon: of(epsilon === null ? "∞" : number(epsilon, 2), promised_epsilon),
    };
    return element("p", { id: "spent" }, say("ledger.spent", facts));
  }

  /** What takes longer than the release itself: the attack, whose verdict stands at once, and the reports. */
  async function finish(studio, reports) {
    const { made: mine } = studio;
    const show = async () => document.getElementById("made-title") && (await studio.draw());
    mine.audit = await Calls.callLong("attack", {}, studio.busy);
    await show();
    if (!reports) return;
    mine.files = [...mine.files, ...(await Calls.callLong("report", {}, studio.busy))];
    await show();
  }

  function made(studio) {
    const { files, audit, commands, python, records, release, ledger } = studio.made;
    const open = async (path) => {
      try {
        const { address } = await Calls.call("show", { path });
        window.open(address, "_blank", "noopener");
      } catch (fault) {
        studio.complain(fault);
      }
    };
    const verdict = !audit ? say("audit.playing") : audit.passed === null ? say("audit.none") : audit.verdict;
    const tone = audit?.passed == null ? "notice" : audit.passed ? "passed" : "failed";
    return [
      element(
        "section",
        { class: "card done", "aria-labelledby": "made-title" },
        element("h2", { id: "made-title", tabindex: -1 }, say("made", { records: number(records) })),
        element("p", { class: tone, id: "verdict", role: "status" }, verdict),
        ledger ? spent(ledger) : null,
        element(
          "ul",
          { class: "files" },
          files.map(({ kind, path, bytes }, place) =>
            element(
              "li",
              {},
              element("span", { class: "what" }, say(`file.${kind}`)),
              element("code", {}, path),
              element("span", { class: "small" }, size(bytes)),
              SHOWN.has(kind) ? button(`file-${place}`, say("open"), () => open(path), "secondary small-button") : null,
            ),
          ),
        ),
        element(
          "div",
          { class: "buttons next" },
          button(
            "next",
            say("next.read"),
            async () => {
              await Reading.open(studio, release);
              studio.go("read");
            },
            "primary",
          ),
        ),
      ),
      element(
        "section",
        { class: "card", "aria-labelledby": "script-title" },
        element("h2", { id: "script-title" }, say("script")),
        element("p", { class: "small" }, say("script.help")),
        code("commands", say("script.commands"), commands, "release.sh"),
        code("python", say("script.python"), python, "release.py"),
      ),
    ];
  }

  return Object.freeze({ draw });
})();
