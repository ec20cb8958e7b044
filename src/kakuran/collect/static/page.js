"use strict";
/* What both pages share: the survey, elements, notices, languages, numbers. */
const Page = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const REMEMBERED = "kakuran:language";
  let language = "en";

  /** The survey that this page's server puts to people; undefined where it cannot be had. */
  async function loadSurvey() {
    try {
      const reply = await fetch("api/survey", { credentials: "omit" });
      return reply.ok ? await reply.json() : undefined;
    } catch {
      return undefined;
    }
  }

  /** An element with attributes, listeners (`onclick: …`) and children; text is only ever text. */
  function element(tag, attributes = {}, ...children) {
    return filled(document.createElement(tag), attributes, children);
  }

  /** The same for a drawing. */
  function drawn(tag, attributes = {}, ...children) {
    return filled(document.createElementNS(SVG, tag), attributes, children);
  }

  function filled(made, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== false && value != null) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.flat(Infinity).filter((child) => child != null));
    return made;
  }

  /** Put words on a line that is there for notices, or take them off. */
  function tell(line, words) {
    line.textContent = words;
    line.classList.toggle("notice", Boolean(words));
  }

  /** The language of the page's own words: English where they are in no other. */
  const ownLanguage = () => [language, language.split("-")[0], "en"].find((one) => Object.hasOwn(Texts, one));

  /** The page's own words for a key, with {places} filled in. */
  function say(key, values = {}) {
    const words = Texts[ownLanguage()][key] ?? Texts.en[key];
    return words.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  }

  /** The page's own words for a key where a count decides between “one answer” and “two answers”. */
  function counted(key, count, values = {}) {
    const form = new Intl.PluralRules(ownLanguage()).select(count);
    return say(`${key}.${form}`, values);
  }

  /** The survey's words: in this language, else in English, else in any. */
  function spoken(texts) {
    return texts?.[language] ?? texts?.en ?? Object.values(texts ?? {})[0] ?? "";
  }

  /** The survey's words within the page's: written from right to left, they must not turn what stands beside them. */
  const apart = (words) => `\u2068${words}\u2069`;

  // Numbers are written as the words that they stand among: 1.200 is another number in English than in German.
  const number = (value, digits = 0) =>
    new Intl.NumberFormat(ownLanguage(), { maximumFractionDigits: digits, minimumFractionDigits: digits }).format(value);
  const plain = (value) => new Intl.NumberFormat(ownLanguage(), { maximumFractionDigits: 20 }).format(value);
  /** e^ε in two digits, rounded up: what is so many times as likely at most. */
  const factorOf = (epsilon) => {
    const factor = Math.exp(epsilon);
    const unit = 10 ** (Math.floor(Math.log10(factor)) - 1);
    return plain(Number((Math.ceil(factor / unit) * unit).toPrecision(3)));
  };
  const percent = (share, digits = 0) =>
    new Intl.NumberFormat(ownLanguage(), {
      style: "percent",
      maximumFractionDigits: digits,
      minimumFractionDigits: digits,
    }).format(share);

  /** A list in words: “a, b or c”. */
  const either = (words) => new Intl.ListFormat(ownLanguage(), { type: "disjunction" }).format(words);

  /** Buttons for the languages of a survey; `changed` is called when another one is chosen. */
  function offerLanguages(languages, changed) {
    const wanted = [remembered(REMEMBERED), ...navigator.languages].filter(Boolean);
    const fits = wanted.map((tag) => languages.find((one) => one === tag || tag.startsWith(`${one}-`)));
    setLanguage(fits.find(Boolean) ?? languages[0]);
    if (languages.length < 2) return;
    const group = document.getElementById("languages");
    group.setAttribute("role", "group");
    group.replaceChildren(
      ...languages.map((one) =>
        element(
          "button",
          {
            type: "button",
            lang: one,
            "aria-pressed": String(one === language),
            onclick: (event) => choose(event, one),
          },
          new Intl.DisplayNames([one], { type: "language" }).of(one),
        ),
      ),
    );
    group.setAttribute("aria-label", say("language"));

    function choose(event, one) {
      setLanguage(one);
      remember(REMEMBERED, one);
      group.setAttribute("aria-label", say("language"));
      for (const button of group.children) button.setAttribute("aria-pressed", String(button === event.currentTarget));
      changed();
    }
  }

  function setLanguage(one) {
    language = one;
    document.documentElement.lang = one;
  }

  /** Which language was chosen may be forgotten where a browser keeps nothing; a draw may not (respond.js). */
  function remembered(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  }

  function remember(key, value) {
    try {
      localStorage.setItem(key, value);
    } catch {
      // The page works without.
    }
  }

  return Object.freeze({
    loadSurvey,
    element,
    drawn,
    tell,
    say,
    counted,
    spoken,
    apart,
    number,
    plain,
    factorOf,
    percent,
    either,
    offerLanguages,
  });
})();
