"use strict";
/*
 * What a server says of its survey, read field by field into frozen objects of this page's own.
 *
 * Nothing else of what the server says is ever looked at: a field of another type, length or range is refused, with its
 * place, and so is what does not fit together; fields that are not known are left behind. What is promised is then held
 * against what perturb.js draws from.
 */
const Definition = (() => {
  const TOTAL = 1n << 63n; // what the weights of one distribution add up to
  const COIN = 1n << 64n;
  const ROUNDED = 1n << 15n; // what the chance of a set of questions may be off by, of 2⁶⁴
  const ROUNDING = 1e-6; // what adding up may change of an ε, and of a k by its part
  const LEAST_CERTAINTY = 0.99;
  const MOST_CODES = (1 << 20) + 1; // answers to a question
  const MOST_COLUMNS = 1000;
  const MOST_CHANCES = 2 ** 30; // looked at to count ε off all tables: some seconds
  const MOST_REMEMBERED = 10000; // answers to what is perturbed together
  const LONGEST = 1000; // characters of a name
  const LONGEST_TEXT = 1 << 16;

  class Refused extends Error {
    constructor(place, key = "fault.definition") {
      super(place);
      this.place = place;
      this.key = key;
    }
  }

  function check(isSo, place, key) {
    if (!isSo) throw new Refused(place, key);
  }

  // Readers: of what is given at a place they make the same anew, or refuse it.

  const only = (isRight) => (given, place) => {
    check(isRight(given), place);
    return given;
  };
  const flag = only((given) => given === true || given === false);
  const number = only(Number.isFinite);
  const whole = (least, most) => only((given) => Number.isInteger(given) && given >= least && given <= most);
  const oneOf = (...words) => only((given) => words.includes(given));
  const matching = (pattern) => only((given) => typeof given === "string" && pattern.test(given));
  const TURNING = /[\u202a-\u202e\u2066-\u2069]/; // what follows is read in another direction, the page's words as well
  const text = only((given) => typeof given === "string" && given.length <= LONGEST_TEXT && !TURNING.test(given));
  const digits = (most) =>
    only((given) => typeof given === "string" && /^(0|[1-9][0-9]{0,19})$/.test(given) && BigInt(given) <= most);
  const orNull = (read) => (given, place) => (given === null ? null : read(given, place));

  const list = (read, least = 1, most = MOST_CODES) => (given, place) => {
    check(Array.isArray(given) && given.length >= least && given.length <= most, place);
    return Object.freeze(given.map((one, at) => read(one, `${place}[${at}]`)));
  };

  const isTable = (given) => typeof given === "object" && given !== null && !Array.isArray(given);

  const fields =
    (needed, optional = {}) =>
    (given, place) => {
      check(isTable(given), place);
      const present = Object.entries(optional).filter(([name]) => Object.hasOwn(given, name));
      const read = [...Object.entries(needed), ...present].map(([name, reader]) => {
        check(Object.hasOwn(given, name), `${place}.${name}`);
        return [name, reader(given[name], `${place}.${name}`)];
      });
      return Object.freeze(Object.fromEntries(read));
    };

  // Names that are sent or shown beside what is sent: all of each can be seen, and no two look alike.

  const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{DI}\u2800]/gu;
  const JOINERS = /[\u200c\u200d\ufe0e\ufe0f]/g; // without these some languages and pictures cannot be written

  // Letters of Cyrillic, Greek, Armenian, Cherokee, phonetics and kana, each with the letter that it looks like.
  const TWINS = new Map(
    [
      "\u0430a \u0435e \u043eo \u0440p \u0441c \u0443y \u0445x \u0455s \u0456i \u0458j \u0501d \u04bbh",
      "\u051bq \u051dw \u04cfl \u0475v \u0410A \u0412B \u0415E \u041dH",
      "\u0406I \u0408J \u041aK \u041cM \u041eO \u0420P \u0421C \u0422T \u0423Y \u0425X \u0405S \u050cG",
      "\u051aQ \u051cW \u04aeY \u04c0I",
      "\u03b1a \u03bfo \u03bdv \u03c1p \u03b9i \u03c5u \u03b3y \u03f3j \u0391A \u0392B \u0395E \u0396Z",
      "\u0397H \u0399I \u039aK \u039cM \u039dN \u039fO \u03a1P \u03a4T \u03a5Y \u03a7X",
      "\u0585o \u0578n \u057du \u0570h \u0566q \u0581g \u054dU \u0555O \u054fS",
      "\u13aaA \u13f4B \u13dfC \u13acE \u13bbH \u13abJ \u13e6K \u13deL \u13b7M \u13e2P \u13d2R \u13daS",
      "\u13a2T \u13d9V \u13b3W \u13c3Z",
      "\u0251a \u0261g",
      "\u30d8\u3078 \u30d9\u3079 \u30da\u307a \u30ed\u53e3 \u30a8\u5de5 \u30ab\u529b \u30bf\u5915 \u30cb\u4e8c \u30cf\u516b \u30c8\u535c \u30c1\u5343 \u30fc\u4e00",
    ].flatMap((row) => row.split(" ").map(([twin, letter]) => [twin, letter])),
  );

  const LATIN = /\p{Script=Latin}/u;
  const isLatin = (letter) => LATIN.test(letter);
  const wordsOf = (name) => name.normalize("NFKC").match(/[\p{L}\p{M}]+/gu) ?? [];
  const looksLatin = (letter) => isLatin(TWINS.get(letter) ?? "");
  const isMixed = (name) => wordsOf(name).some((word) => isLatin(word) && [...word].some(looksLatin));
  const asTwin = (name) => Array.from(name, (letter) => TWINS.get(letter) ?? letter).join("");
  const looks = (name) => asTwin(name.normalize("NFKC").replace(UNSEEN, "").replace(/\s+/gu, " ").trim());
  const isSeen = (name, most = LONGEST) =>
    name.length <= most && looks(name) !== "" && name.search(UNSEEN) < 0 && !isMixed(name);
  const seen = only((given) => typeof given === "string" && given !== "__proto__" && isSeen(given));
  const seenTogether = only((given) => typeof given === "string" && isSeen(given, LONGEST_TEXT));
  const label = only((given) => typeof given === "string" && isSeen(given.replace(JOINERS, "")));
  const value = (given, place) => (typeof given === "string" ? seen : only(isPlain))(given, place);
  const isPlain = (given) => typeof given === "boolean" || Number.isFinite(given);

  function checkDifferent(names, place) {
    const kinds = names.map((name) => typeof name);
    const alike = names.map((name) => (typeof name === "string" ? looks(name) : name));
    check(new Set(kinds).size === 1 && new Set(alike).size === names.length, place);
  }

  // Words in every language of the survey, or, where there need be none, in none.

  const language = matching(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/);

  const words = (languages, read = text) => fields(Object.fromEntries(languages.map((one) => [one, read])));
  const wordsOrNone = (languages) => (given, place) =>
    isTable(given) && Object.keys(given).length === 0 ? Object.freeze({}) : words(languages)(given, place);

  // Mechanisms.

  const mechanismFields = (size) => ({
    retention: [{ threshold: digits(COIN) }],
    window: [{ half_width: whole(0, size), may_be_missing: flag }, { threshold: digits(COIN) }],
    shifts: [{ shifts: list(whole(0, size - 1), 1, size) }, { threshold: digits(COIN) }],
    noise: [{ reach: whole(0, MOST_CODES), weights: list(digits(TOTAL)) }],
    pram: [{ weights: list(list(digits(TOTAL), size, size), size, size) }],
  });

  function mechanism(given, place) {
    const { kind, size } = fields({ kind: text, size: whole(1, MOST_CODES) })(given, place);
    const known = mechanismFields(size);
    check(Object.hasOwn(known, kind), `${place}.kind`);
    const [needed, optional] = known[kind];
    const read = fields({ kind: oneOf(kind), size: whole(size, size), ...needed }, optional)(given, place);
    const sum = (weights) => weights.reduce((total, weight) => total + BigInt(weight), 0n);
    const { reach, weights, shifts } = read;
    if (kind === "shifts") check(new Set(shifts).size === shifts.length, `${place}.shifts`);
    if (kind === "pram") check(weights.every((row) => sum(row) === TOTAL), `${place}.weights`);
    if (kind === "noise")
      check(weights.length === size + reach && sum([...weights.slice(1), ...weights]) <= TOTAL, `${place}.weights`);
    return read;
  }

  // Columns: what is asked, what may be answered, and what may be sent.

  const DAY = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/;

  function columnFields(languages) {
    const labelled = fields({ value, label: words(languages, label) });
    const options = list(fields({ value: seen, label: words(languages, label) }));
    const several = fields({ name: seen, text: words(languages), options, ticks: list(seen, 1, 20) });
    const common = { name: seen, text: words(languages), help: wordsOrNone(languages), mechanism };
    return {
      common,
      optional: { missing: oneOf("skipped", "outside"), only_if: conditions, outside: whole(0, MOST_CODES), several },
      categorical: [{ values: list(labelled) }, { beyond: list(value) }],
      numeric: [{ low: number, high: number, step: number, unit: wordsOrNone(languages) }],
      date: [{ low: matching(DAY), high: matching(DAY), step: oneOf("day", "week", "month", "quarter", "year") }],
    };
  }

  function conditions(given, place) {
    check(isTable(given) && Object.keys(given).length > 0, place);
    const readers = Object.fromEntries(Object.keys(given).map((name) => [seen(name, place), list(value)]));
    return fields(readers)(given, place);
  }

  const column = (languages) => (given, place) => {
    const { kind } = fields({ kind: oneOf("categorical", "numeric", "date") })(given, place);
    const { common, optional, [kind]: own } = columnFields(languages);
    const read = fields({ ...common, kind: oneOf(kind), ...own[0] }, { ...optional, ...own[1] })(given, place);
    checkNames(read, languages, place);
    checkCodes(read, place);
    return read;
  };

  function checkNames({ values, beyond = [], several }, languages, place) {
    if (values) checkLabelled(values, beyond, languages, `${place}.values`);
    if (!several) return;
    const { options, ticks } = several;
    checkLabelled(options, [], languages, `${place}.several.options`);
    checkDifferent(ticks, `${place}.several.ticks`);
    check(values && ticks.every((tick) => options.some((one) => one.value === tick)), `${place}.several.ticks`);
  }

  function checkLabelled(named, beyond, languages, place) {
    checkDifferent([...named.map((one) => one.value), ...beyond], place);
    for (const code of languages) checkDifferent(named.map((one) => one.label[code]), place);
  }

  /** Every true answer has one of the codes that are perturbed, and every code that may be drawn an answer to send. */
  function checkCodes(read, place) {
    const { mechanism: drawn, values, beyond = [], several, missing } = read;
    const count = Questions.countOf(read);
    const reach = drawn.half_width ?? drawn.reach ?? 0;
    check(drawn.size === count, `${place}.mechanism.size`);
    check((drawn.may_be_missing ?? Boolean(missing)) === Boolean(missing), `${place}.mechanism.may_be_missing`);
    check(!values || beyond.length === 2 * reach, `${place}.beyond`);
    check(!several || 2 ** several.ticks.length <= values.length, `${place}.several.ticks`);
    check(Object.hasOwn(read, "outside") === Object.hasOwn(read, "only_if"), `${place}.outside`);
    check((read.outside ?? 0) < count, `${place}.outside`);
    const ends = [-reach, count - 1 - Number(Boolean(missing)) + reach];
    const isSent = { date: (day) => DAY.test(day), numeric: Number.isFinite, categorical: () => true }[read.kind];
    check(ends.every((code) => isSent(Questions.releasedOf(read, code))), place);
  }

  /** Columns of one question agree on whom it applies to, and that is decided by questions before it. */
  function checkQuestions(columns) {
    const asked = ({ name, several }) => several?.name ?? name;
    const agreed = (one) => JSON.stringify([one.several?.options, one.only_if, one.missing]);
    columns.forEach((one, at) => {
      const place = `questions[${at}]`;
      const earlier = new Set(columns.slice(0, at).map(asked).filter((name) => name !== asked(one)));
      const first = columns.find((other) => asked(other) === asked(one));
      check(first === one || (one.several && agreed(first) === agreed(one)), `${place}.several`);
      check(Object.keys(one.only_if ?? {}).every((name) => earlier.has(name)), `${place}.only_if`);
    });
  }

  // Sets of questions: each is another one, all are equally likely, and every question is in one of them.

  const CHANCES = { weight: digits(TOTAL), threshold: orNull(digits(COIN)) };
  const set = fields({ told: seenTogether, questions: list(seen), ...CHANCES });

  function checkSets(tells, columns) {
    const kinds = new Map(columns.map(({ name, mechanism: drawn }) => [name, drawn]));
    const weights = tells.reduce((sum, { weight }) => sum + BigInt(weight), 0n);
    check(weights === TOTAL, "tells", "fault.promise");
    const even = Perturb.choice(tells).chances.slice(0, tells.length);
    const off = even.map((chance) => chance * BigInt(tells.length) - COIN);
    const most = ROUNDED * BigInt(tells.length);
    check(off.every((one) => one < most && -one < most), "tells", "fault.promise");
    checkDifferent(tells.map(({ told }) => told), "tells");
    const members = tells.map(({ questions }) => JSON.stringify([...questions].sort()));
    check(new Set(members).size === tells.length, "tells", "fault.promise");
    const told = new Set(tells.flatMap(({ questions }) => questions));
    check([...kinds.keys()].every((name) => told.has(name)), "tells", "fault.promise");
    tells.forEach(({ questions, threshold }, at) => {
      const place = `tells[${at}]`;
      check(new Set(questions).size === questions.length && questions.every((name) => kinds.has(name)), place);
      const drawn = questions.map((name) => kinds.get(name));
      const isDrawn = ({ kind, threshold: own, weights: listed }) =>
        threshold === null ? own !== undefined || listed !== undefined : kind === "window" || kind === "shifts";
      check(drawn.every(isDrawn), `${place}.threshold`);
    });
  }

  /** Of a survey to be remembered, a draw for every answer is made and stored: that has to be possible. */
  function checkMemory({ memoise, tells, questions }) {
    const counts = new Map(questions.map((question) => [question.name, Questions.countOf(question)]));
    const product = (names) => names.reduce((answers, name) => answers * counts.get(name), 1);
    const isSmall = ({ questions: names, threshold }) =>
      (threshold === null ? names.map((name) => [name]) : [names]).every((some) => product(some) <= MOST_REMEMBERED);
    check(memoise === undefined || tells.every(isSmall), "survey.memoise");
  }

  /** How many chances, or places that are near an answer, are looked at to count ε. */
  const chancesOf = ({ size, reach = 0, shifts = [0], weights }) =>
    size * (weights ? size + 2 * reach : shifts.length);

  /** ε of what is drawn from: that of the set of questions that tells most. */
  function epsilonOf({ tells, questions }) {
    const kinds = new Map(questions.map(({ name, mechanism: drawn }) => [name, drawn]));
    const all = tells.flatMap((one) => one.questions).reduce((sum, name) => sum + chancesOf(kinds.get(name)), 0);
    check(all <= MOST_CHANCES, "tells");
    const each = tells.map((one) => Perturb.telling(one, one.questions.map((name) => kinds.get(name))).epsilon());
    return each.reduce((most, one) => Math.max(most, one), 0);
  }

  // The survey.

  function survey(given) {
    const ID = matching(/^[a-z0-9][a-z0-9-]{0,62}$/);
    const { languages } = fields({ languages: list(language) })(given, "survey");
    checkDifferent(languages, "survey.languages");
    Intl.getCanonicalLocales(languages); // throws where one is none
    const read = fields(
      {
        id: ID,
        version: ID,
        title: words(languages),
        introduction: wordsOrNone(languages),
        languages: list(language),
        k: orNull(number),
        epsilon: number,
        expected_n: orNull(whole(1, Number.MAX_SAFE_INTEGER)),
        invitations: flag,
        state: oneOf("open", "closed"),
        questions: list(column(languages), 1, MOST_COLUMNS),
        tells: list(set),
      },
      {
        ask: oneOf("drawn", "all"),
        memoise: ID,
        certainty: only((given) => Number.isFinite(given) && given > LEAST_CERTAINTY && given < 1),
        trust: oneOf("server"),
      },
    )(given, "survey");
    checkDifferent(read.questions.map(({ name }) => name), "survey.questions");
    checkQuestions(read.questions);
    checkSets(read.tells, read.questions);
    checkMemory(read);
    return read;
  }

  /** The survey that is given, whose `epsilon` is that of what is drawn from; throws where there is none. */
  function read(given) {
    const own = survey(given);
    const epsilon = epsilonOf(own);
    check(epsilon <= own.epsilon + ROUNDING, "epsilon", "fault.promise");
    check((own.k === null) === (own.expected_n === null), "k");
    const isCertain = own.certainty !== undefined;
    check(isCertain === (own.trust !== undefined), "trust");
    check(!isCertain || (own.k !== null && own.memoise === undefined), "certainty");
    // With certainty this page cannot compute k: it refuses more than the number of people who hide one on average.
    const most = 1 + (own.expected_n - 1) * Math.exp((isCertain ? -1 : -2) * epsilon);
    check(own.k === null || (own.k >= 1 && own.k <= most * (1 + ROUNDING)), "k", "fault.promise");
    return Object.freeze({ ...own, epsilon });
  }

  return Object.freeze({ Refused, read });
})();
