"use strict";
/*
 * The one draw, and before it that of the questions to tell, where not everybody tells all. Each is written to this
 * browser's storage before anybody sees it, and from then on only what is stored there is ever shown or sent: a reload,
 * a second click, the back button and a second tab all meet the same draw.
 *
 * What is stored: {version, id, told, answers, title, epsilon, tried, sent}, one for each survey. `answers` are those to
 * send; of the true ones nothing is kept. What is told is stored on its own, {version, told}, before the first question
 * is shown.
 *
 * Where a survey is to be `memoise`d, a draw for every possible answer is stored as well, before any is known, under the
 * name that its waves share and all that they show: who answers the same in a later wave sends the same. Which answer
 * was given is not stored; which of these `tables` were used is, with that name.
 */
const Draw = (() => {
  const PLACE = "kakuran:survey:";
  const ROOM = 4000; // characters for the name of a question and its answer, each of at most 1,000, as JSON writes them
  const place = (survey) => `${PLACE}${survey.id}`;
  const toldPlace = (survey) => `kakuran:told:${survey.id}`;
  const memoryPlace = (survey) => `kakuran:draws:${survey.memoise}`;

  /** What is stored for a survey; a draw for an earlier version does not count as long as it never left the device. */
  function stored(survey) {
    const draw = JSON.parse(localStorage.getItem(place(survey)));
    return draw && (draw.version === survey.version || draw.tried) ? draw : null;
  }

  /** What this device tells: one of the survey's sets of questions, drawn unless that was done before. */
  function tell(survey) {
    if (survey.tells.length === 1) return survey.tells[0];
    const kept = JSON.parse(localStorage.getItem(toldPlace(survey)));
    const known = survey.tells.find(({ told }) => kept?.version === survey.version && told === kept.told);
    if (known) return known;
    const draw = () => Perturb.choice(survey.tells).draw();
    const drawn = survey.tells[survey.memoise ? remembered(survey, "told", draw) : draw()];
    localStorage.setItem(toldPlace(survey), JSON.stringify({ version: survey.version, told: drawn.told }));
    return drawn;
  }

  /** The questions of a set. */
  function questionsOf(survey, { questions }) {
    return questions.map((name) => survey.questions.find((question) => question.name === name));
  }

  /** Draw what to send for the codes of the true answers to a set of questions, unless that was done before. */
  function once(survey, chosen, codes) {
    if (stored(survey)) return;
    const questions = questionsOf(survey, chosen);
    const told = survey.tells.length > 1 ? chosen.told : undefined; // where all tell the same, nobody says what
    const { version, title, epsilon, memoise } = survey;
    const id = randomId();
    // Whether there is room must not depend on what is drawn, else who tries again draws until it fits.
    keep(survey, { id, told, title, room: " ".repeat(ROOM * (questions.length + 1)) });
    const given = questions.map(({ name }) => codes[name]);
    const released = survey.memoise ? memoised(survey, chosen, given) : fresh(chosen, questions, given);
    const answers = Object.fromEntries(
      questions.map((question, at) => [question.name, Questions.releasedOf(question, released[at])]),
    );
    const tables = memoise && tablesOf(survey);
    keep(survey, { version, id, told, answers, title, epsilon, memoise, tables, tried: false, sent: false });
  }

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
      const table = remembered(survey, key, () => every(sizes).map((one) => fresh(chosen, set, one)));
      return table[placeOf(sizes, chosen.threshold === null ? [codes[at]] : codes)];
    });
  }

  /**
   * All that people are shown of a survey. What a question means may stand in the introduction, or in a question that
   * decides whether it applies: sent as in a wave of other words, it would tell whether the true answers are the same.
   */
  const shown = ({ title, introduction, questions, tells, ask }) =>
    JSON.stringify([title, introduction, questions, tells, ask]);

  const memoryOf = (survey) => JSON.parse(localStorage.getItem(memoryPlace(survey))) ?? {};

  /** What is remembered of a thing for waves that show the same; made and stored if there is nothing. */
  function remembered(survey, key, make) {
    const memory = memoryOf(survey);
    const tables = (memory[shown(survey)] ??= {});
    if (!Object.hasOwn(tables, key)) {
      tables[key] = make();
      localStorage.setItem(memoryPlace(survey), JSON.stringify(memory));
    }
    return tables[key];
  }

  /** Where what is remembered for a survey stands among all that is; -1 where nothing is. */
  const tablesOf = (survey) => Object.keys(memoryOf(survey)).indexOf(shown(survey));

  /** What left this device for the same origin under other ids, and tells more together with what is to come. */
  function before(survey) {
    const places = Object.keys(localStorage).filter((key) => key.startsWith(PLACE) && key !== place(survey));
    const draws = places.map((key) => JSON.parse(localStorage.getItem(key))).filter(({ tried }) => tried);
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
  }

  function keep(survey, draw) {
    localStorage.setItem(place(survey), JSON.stringify(draw));
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
