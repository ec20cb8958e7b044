"use strict";
/* Release: where to, how far it is, what was written, whether it stands, and the script that does the same. */
const Releasing = (() => {
  const { element, say, number } = Page;
  const { field, input, select, button, code, size } = Parts;
  const SHOWN = new Set(["public", "internal"]);
  const ask = Calls.latest("joined");
  let chosen = {}; // of which table, and what was chosen for its next release: a file, a ledger

  const check = (id, label, checked) =>
    element("label", { class: "check" }, element("input", { type: "checkbox", id, checked }), label);

  function draw(studio) {
    return [
      element("p", { class: "lead" }, say("release.lead")),
      studio.made ? made(studio) : null,
      making(studio),
    ];
  }

  function title({ k, wishes: { certainty } }) {
    const facts = { k: Page.plain(k), certainty: Page.plain(certainty ?? 1) };
    return say(certainty ? "release.title.certain" : "release.title", facts);
  }

  function making(studio) {
    const { state } = studio;
    if (chosen.named !== state.opened.named) chosen = { named: state.opened.named };
    const misfits = state.misfits.map(({ message }) => element("p", { class: "error" }, message));
    const release = async (event) => {
      event.preventDefault();
      if (state.read_off.length) {
        document.getElementById("confirm-release").focus();
        return;
      }
      const target = document.getElementById("target").value;
      const force = document.getElementById("force").checked;
      const reports = document.getElementById("reports").checked;
      const start = document.getElementById("make");
      start.setAttribute("aria-disabled", "true");
      try {
        const ledger = document.getElementById("ledger")?.value ?? "";
        await studio.settled();
        const said = saidOf(studio);
        studio.made = await Calls.callLong("release", { target, force, ledger }, studio.busy);
        Object.assign(studio.made, { said, k: studio.state.k, named: studio.state.opened.named });
        studio.opened = null;
        chosen = {};
        studio.state = await Calls.call("state"); // of which one release more is known, and a file that is there
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
      element("h2", { id: "making-title" }, title(state)),
      state.read_off.length ? unsure(studio) : null,
      misfits,
      element(
        "div",
        { class: "line" },
        field(
          "target",
          say("release.target"),
          input(chosen.target ?? state.targets, { oninput: (event) => (chosen.target = event.target.value) }),
          say("release.target.help"),
        ),
        field("file-kind", say("release.kind"), kinds(state), say("release.kind.help")),
      ),
      state.ledgers.length ? ledgers(studio) : null,
      again(studio),
      check("reports", say("release.reports"), true),
      check("force", say("release.force"), false),
      element(
        "button",
        { class: "primary", type: "submit", id: "make", "aria-disabled": String(state.read_off.length > 0) },
        say("release.make"),
      ),
    );
  }

  /** What was read off the data, which is published: the release waits until somebody says that this is public. */
  function unsure(studio) {
    const columns = studio.state.read_off;
    return element(
      "div",
      { class: "notice" },
      element("p", {}, say("release.unsure", { columns: columns.join(", ") })),
      element(
        "div",
        { class: "buttons" },
        button("back", say("step.public"), () => studio.go("public")),
        button("confirm-release", say("public.all"), () => studio.change("confirm", { columns, public: true })),
      ),
    );
  }

  /** All that a release follows from, but chance. */
  const saidOf = ({ state }) => JSON.stringify([state.opened.named, state.opened.sql, state.k, state.toml]);

  /** Another kind of file changes how the name above ends. */
  function kinds({ kinds: found, targets }) {
    const turn = (kind) => {
      const target = document.getElementById("target");
      target.value = target.defaultValue = chosen.target = target.value.replace(/(\.[^./\\]*)?$/, kind);
    };
    return select(
      found.map((kind) => [kind, say(`file.kind.${kind.slice(1)}`)]),
      found.find((kind) => (chosen.target ?? targets).endsWith(kind)),
      turn,
    );
  }

  /** Where the folder holds a promise over several releases, what this one spends of it is entered there. */
  function ledgers(studio) {
    const paths = studio.state.ledgers;
    const options = [...paths.map((path) => [path, path.split(/[/\\]/).at(-1)]), ["", say("ledger.none")]];
    const choose = (path) => {
      chosen.ledger = path;
      document.getElementById("again").replaceWith(again(studio));
    };
    return field("ledger", say("ledger"), select(options, chosen.ledger ?? paths[0], choose), say("ledger.help"));
  }

  /** The same people released once more, and some of it in no ledger: what is left of what they were promised. */
  function again(studio) {
    const { made_before: before, ledgers: known } = studio.state;
    const frame = element("div", { id: "again" });
    const ledger = chosen.ledger ?? known[0] ?? "";
    if (!before.length || (ledger && !before.includes(null))) return frame;
    ask({}).then(
      (found) => {
        if (!found) return;
        const k = (value) => number(value, value % 1 ? 1 : 0);
        const epsilon = found.epsilon === null ? "∞" : number(found.epsilon, 2);
        const facts = { number: found.number, apart: k(found.apart), joined: number(found.joined, 1), epsilon };
        frame.replaceChildren(
          element(
            "div",
            { class: "notice" },
            element("p", {}, say("again", facts)),
            element("p", { class: "small" }, say("again.help")),
            known.length ? null : button("start-ledger", say("again.start"), () => studio.change("account")),
          ),
        );
      },
      (fault) => studio.complain(fault),
    );
    return frame;
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
    const isOld = studio.made.said !== saidOf(studio);
    const earlier = { file: release.split(/[/\\]/).at(-1), k: Page.plain(studio.made.k) };
    return [
      element(
        "section",
        { class: `card ${isOld ? "earlier" : "done"}`, "aria-labelledby": "made-title" },
        element(
          "h2",
          { id: "made-title", tabindex: -1 },
          isOld ? say("made.earlier", earlier) : say("made", { records: number(records) }),
        ),
        isOld ? element("p", { class: "notice" }, say("made.old")) : null,
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
