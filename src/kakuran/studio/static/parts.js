"use strict";
/* What the steps are put together from: fields, choices, tables, code to take away, and a look into folders. */
const Parts = (() => {
  const { element, say, number } = Page;
  const { call } = Calls;

  /** A control below its name; what helps with it stands below both. */
  function field(id, label, control, help = "") {
    control.id = id;
    if (help) control.setAttribute("aria-describedby", `${id}-help`);
    return element(
      "div",
      { class: "field" },
      element("label", { for: id }, label),
      control,
      help ? element("p", { class: "help", id: `${id}-help` }, help) : null,
    );
  }

  const input = (value, attributes = {}) => {
    const made = element("input", { type: "text", autocomplete: "off", spellcheck: "false", ...attributes });
    made.defaultValue = value ?? "";
    return made;
  };

  function select(options, chosen, onchange, attributes = {}) {
    return element(
      "select",
      { onchange: (event) => onchange(event.target.value), ...attributes },
      options.map(([value, label]) => element("option", { value, selected: value === chosen }, label)),
    );
  }

  /** One of a few, side by side. */
  function segments(name, legend, options, chosen, onchange) {
    return element(
      "fieldset",
      { class: "segments" },
      element("legend", {}, legend),
      element(
        "div",
        {},
        options.map(([value, label, title]) =>
          element(
            "label",
            { title },
            element("input", {
              type: "radio",
              name,
              id: `${name}-${value}`,
              value,
              checked: value === chosen,
              onchange: () => onchange(value),
            }),
            element("span", {}, label),
          ),
        ),
      ),
    );
  }

  const button = (id, label, onclick, kind = "secondary") =>
    element("button", { id, type: "button", class: kind, onclick }, label);

  function table(caption, header, rows) {
    return element(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
      element(
        "table",
        {},
        element("caption", {}, caption),
        element("thead", {}, element("tr", {}, header.map((name) => element("th", { scope: "col" }, name)))),
        element("tbody", {}, rows.map((row) => element("tr", {}, row.map((cell) => element("td", {}, cell))))),
      ),
    );
  }

  /** Something folded whose state survives that the page is drawn again. */
  const opened = new Set();
  function folded(key, summary, ...parts) {
    return element(
      "details",
      {
        open: opened.has(key),
        ontoggle: (event) => (event.target.open ? opened.add(key) : opened.delete(key)),
      },
      element("summary", { id: `fold-${key}` }, summary),
      parts,
    );
  }

  /** Code with buttons to copy and to save it. */
  function code(id, title, text, file) {
    const copied = element("span", { role: "status", class: "small" });
    return element(
      "div",
      { class: "code" },
      element("h3", {}, title),
      element("pre", { tabindex: 0, id, role: "region", "aria-label": title }, element("code", {}, text)),
      element(
        "div",
        { class: "buttons" },
        button(`${id}-copy`, say("copy"), async () => {
          await navigator.clipboard.writeText(text);
          copied.textContent = say("copied");
        }),
        button(`${id}-save`, say("save"), () => save(file, text, "text/plain")),
        copied,
      ),
    );
  }

  /** Hand something to the browser to save. */
  function save(name, content, type) {
    const address = URL.createObjectURL(new Blob([content], { type }));
    element("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  }

  /** Folders to walk through and files to choose; starts where it was left. */
  let place = null;
  function browser(id, choose, complain, hidden = null) {
    const frame = element("div", { class: "browser", id });
    const join = (folder, name) => `${folder.replace(/[/\\]$/, "")}/${name}`;
    const look = async (folder, shouldFocus = true) => {
      try {
        const found = await call("folder", { folder });
        place = found.folder;
        frame.replaceChildren(
          element("p", { class: "small place" }, found.folder),
          element(
            "ul",
            { "aria-label": say("files") },
            element("li", {}, entry("folder up", "..", say("up"), () => look(found.parent))),
            found.folders.map((name) =>
              element("li", {}, entry("folder", `${name}/`, null, () => look(join(found.folder, name)))),
            ),
            found.files
              .map((name) => [name, join(found.folder, name)])
              .filter(([, path]) => path !== hidden)
              .map(([name, path]) => element("li", {}, entry("file", name, null, () => choose(path)))),
          ),
        );
        if (shouldFocus) frame.querySelector("button")?.focus();
      } catch (fault) {
        complain(fault);
      }
    };
    const entry = (kind, name, label, onclick) =>
      element("button", { type: "button", class: kind, onclick, "aria-label": label }, name);
    look(place, false);
    return frame;
  }

  /** What kakuran.report has made, which escapes every name and label; what scrolls in it is reached by keyboard. */
  function reported(frame, html) {
    frame.innerHTML = html;
    for (const part of frame.querySelectorAll(".table, figure")) {
      const name = part.querySelector("caption")?.textContent ?? part.querySelector("img")?.alt ?? "";
      for (const [key, value] of Object.entries({ tabindex: 0, role: "region", "aria-label": name }))
        part.setAttribute(key, value);
    }
    for (const head of frame.querySelectorAll("th:empty")) head.replaceWith(element("td"));
    return frame;
  }

  /** The size of a file in words. */
  const size = (bytes) =>
    bytes < 1e3 ? `${number(bytes)} B` : bytes < 1e6 ? `${number(bytes / 1e3)} kB` : `${number(bytes / 1e6, 1)} MB`;

  return Object.freeze({ field, input, select, segments, button, table, folded, code, save, browser, reported, size });
})();
