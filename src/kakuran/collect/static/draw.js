"use strict";
/*
 * The one draw, and before it that of the questions to tell, where not everybody tells all. Each is written to this
 * browser's storage before anybody sees it, and from then on only what is stored there is ever shown or sent: a reload,
 * a second click, the back button and a second tab all meet the same draw.
 *
 * What is stored: {version, id, told, answers, title, epsilon, tried, sent}, one for each survey, filled up to the same
 * length whatever was drawn. `answers` are those to send; of the true ones nothing is kept. What is told is stored on its own, {version, told},
 * filled up as well, before the first question is shown.
 *
 * Where a survey is to be `memoise`d, a draw for every possible answer is stored as well, before any is known, under the
 * name that its waves share and all that they show: who answers the same in a later wave sends the same. Which answer
 * was given is not stored; which of these `tables` were used is, with that name.
 */
const Draw = (() => {
  const PLACE = "kakuran:survey:";
  const NUMBER = 32; // more characters than JSON writes of any number, day, or answer that is missing
  const CODE = 11; // of a code of at most seven digits, with its sign, comma and brackets
  const place = (survey) => `${PLACE}${survey.id}`;
  const toldPlace = (survey) => `kakuran:told:${survey.id}`;
  const memoryPlace = (survey) => `kakuran:draws:${survey.memoise}`;

  // By a header of any reply a server can have a browser forget: what this page has seen there it knows, and restores.
  const known = new Map();
  const keys = () => [...new Set([...Object.keys(localStorage), ...known.keys()])];

  function read(key) {
    const text = localStorage.getItem(key) ?? known.get(key) ?? null;
    if (text !== null) known.set(key, text);
    return JSON.parse(text);
  }

  function write(key, value) {
    const text = JSON.stringify(value);
    localStorage.setItem(key, text);
    known.set(key, text);
  }

  function restore() {
    for (const [key, text] of known) if (localStorage.getItem(key) === null) localStorage.setItem(key, text);
  }

  /** What is stored for a survey; a draw for an earlier version does not count as long as it never left the device. */
  function stored(survey) {
    const draw = read(place(survey));
    return draw && (draw.version === survey.version || draw.tried) ? draw : null;
  }

  /** What this device tells: one of the survey's sets of questions, drawn unless that was done before. */
  function tell(survey) {
    if (survey.tells.length === 1) return survey.tells[0];
    const kept = read(toldPlace(survey));
    const earlier = survey.tells.find(({ told }) => kept?.version === survey.version && told === kept.told);
    if (earlier) return earlier;
    const lengthOf = ({ told }) => JSON.stringify(told).length;
    const most = survey.tells.reduce((most, one) => Math.max(most, lengthOf(one)), 0);
    const keepTold = (told, room) => write(toldPlace(survey), { version: survey.version, told, room: " ".repeat(room) });
    keepTold("", most); // asked for before the draw, as for the answers
    const draw = () => Perturb.choice(survey.tells).draw();
    const drawn = survey.tells[survey.memoise ? remembered(survey, "told", 1, draw) : draw()];
    keepTold(drawn.told, most - lengthOf(drawn));
    return drawn;
  }

  /** The questions of a set. */
  function questionsOf(survey, { questions }) {
    return questions.map((name) => survey.questions.find((question) => question.name === name));
  }

  let unkept = null; // what was drawn and could not be stored, so that who tries again does not draw again

  /** Draw what to send for the codes of the true answers to a set of questions, unless that was done before. */
  function once(survey, chosen, codes) {
    if (stored(survey)) return;
    unkept ??= drawn(survey, chosen, codes);
    keep(survey, unkept);
    unkept = null;
  }

  function drawn(survey, chosen, codes) {
    const questions = questionsOf(survey, chosen);
    const told = survey.tells.length > 1 ? chosen.told : undefined; // where all tell the same, nobody says what
    const { version, title, epsilon, memoise } = survey;
    const id = randomId();
    const given = questions.map(({ name }) => codes[name]);
    const same = memoise && memoised(survey, chosen, given);
    const tables = memoise && tablesOf(survey);
    const common = { version, id, told, title, epsilon, memoise, tables, tried: false, sent: false, room: "" };
    const named = (answer) => Object.fromEntries(questions.map((question, at) => [question.name, answer(question, at)]));
    const sizeOf = (answers) => JSON.stringify({ ...common, answers }).length;
    const most = sizeOf(named((question) => " ".repeat(longest(question))));
    // Whether there is room must not depend on what is drawn, nor what room is left: so all draws take the same.
    keep(survey, { id, title, room: " ".repeat(most) });
    const released = same ?? fresh(chosen, questions, given);
    const answers = named((question, at) => Questions.releasedOf(question, released[at]));
    return { ...common, answers, room: " ".repeat(most - sizeOf(answers)) };
  }

  /** How many characters JSON needs for an answer at most. */
  const longest = ({ values = [], beyond = [] }) =>
    [...values.map(({ value }) => value), ...beyond].reduce(
      (most, one) => Math.max(most, JSON.stringify(one).length),
      NUMBER,
    );

  function fresh(chosen, questions, codes) {
    const mechanisms = questions.map(({ mechanism }) => mechanism);
    return Perturb.telling(chosen, mechanisms).draw(codes);
  }

  /** As was drawn for these answers beforehand: for questions told together as one value, else for each. */
  function memoised(survey, chosen, codes) {
    const questions = questionsOf(survey, chosen);
    const sets = chosen.threshold === null ? questions.map((question) => [question]) : [questions];
    return sets.flatMap((set, at) => {
      const sizes = set.map(Questions.countOf);
      const key = JSON.stringify([chosen.told, at]);
      const count = sizes.reduce((product, size) => product * size, set.length);
      const table = remembered(survey, key, count, () => every(sizes).map((one) => fresh(chosen, set, one)));
      return table[placeOf(sizes, chosen.threshold === null ? [codes[at]] : codes)];
    });
  }

  /**
   * All that people are shown of a survey. What a question means may stand in the introduction, or in a question that
   * decides whether it applies: sent as in a wave of other words, it would tell whether the true answers are the same.
   */
  const shown = ({ title, introduction, questions, tells, ask }) =>
    JSON.stringify([title, introduction, questions, tells, ask]);

  const memoryOf = (survey) => read(memoryPlace(survey)) ?? {};

  /** What is remembered of a thing, of so many codes, for waves that show the same; made and stored if nothing is. */
  function remembered(survey, key, count, make) {
    const memory = memoryOf(survey);
    const tables = (memory[shown(survey)] ??= {});
    if (!Object.hasOwn(tables, key)) {
      memory.room = " ".repeat(CODE * count + 2 * key.length); // asked for before the draw, as for the answers
      write(memoryPlace(survey), memory);
      delete memory.room;
      tables[key] = make();
      write(memoryPlace(survey), memory);
    }
    return tables[key];
  }

  /** Where what is remembered for a survey stands among all that is; -1 where nothing is. */
  const tablesOf = (survey) => Object.keys(memoryOf(survey)).indexOf(shown(survey));

  /** What left this device for the same origin under other ids, and tells more together with what is to come. */
  function before(survey) {
    const places = keys().filter((key) => key.startsWith(PLACE) && key !== place(survey));
    const draws = places.map(read).filter(({ tried }) => tried);
    return survey.memoise && tellNoMore(survey, draws) ? [] : draws;
  }

  /** Whether an earlier wave was sent from the same tables: then the same answers tell no more. */
  const tellNoMore = (survey, draws) =>
    draws.some(({ memoise, tables }) => memoise === survey.memoise && tables === tablesOf(survey));

  /** All answers to some questions, in order. */
  function every(sizes) {
    return sizes.reduce(
      (rows, size) => rows.flatMap((row) => Array.from({ length: size }, (_, code) => [...row, code])),
      [[]],
    );
  }

  function placeOf(sizes, codes) {
    return codes.reduce((place, code, at) => place * sizes[at] + code, 0);
  }

  /** Note that a draw was tried to be sent, or was sent. */
  function mark(survey, changes) {
    keep(survey, { ...stored(survey), ...changes });
    restore();
  }

  function keep(survey, draw) {
    write(place(survey), draw);
  }

  /** A random UUID (version 4); `crypto.randomUUID` is missing on plain-HTTP addresses. */
  function randomId() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const text = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return text.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }

  return Object.freeze({ stored, tell, questionsOf, before, once, mark });
})();
