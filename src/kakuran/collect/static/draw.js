"use strict";
/*
 * The one draw, and before it that of the questions to tell, where not everybody tells all. Each is written to this
 * browser's storage before anybody sees it, and from then on only what is stored there is ever shown or sent: a reload,
 * a second click, the back button and a second tab all meet the same draw.
 *
 * What is stored: {version, id, told, answers, tried, sent}, one for each survey. `answers` are those to send; of the
 * true ones nothing is kept. What is told is stored on its own, {version, told}, before the first question is shown.
 *
 * Where a survey is to be `memoise`d, a draw for every possible answer is stored as well, before any is known, under the
 * name that its waves share: who answers the same in a later wave sends the same. Which answer was given is not stored.
 */
const Draw = (() => {
  const place = (survey) => `kakuran:survey:${survey.id}`;
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
    const place = () => Perturb.choice(survey.tells)();
    const drawn = survey.tells[survey.memoise ? remembered(survey, survey.tells, place) : place()];
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
    const given = questions.map(({ name }) => codes[name]);
    const released = (survey.memoise ? memoised : fresh)(survey, chosen, questions, given);
    const answers = Object.fromEntries(
      questions.map((question, at) => [question.name, Questions.releasedOf(question, released[at])]),
    );
    const told = survey.tells.length > 1 ? chosen.told : undefined; // where all tell the same, nobody says what
    keep(survey, { version: survey.version, id: randomId(), told, answers, tried: false, sent: false });
  }

  function fresh(_, chosen, questions, codes) {
    return Perturb.telling(
      chosen,
      questions.map(({ mechanism }) => mechanism),
    )(codes);
  }

  /** As was drawn for these answers beforehand: for questions told together as one value, else for each. */
  function memoised(survey, chosen, questions, codes) {
    const apart = chosen.threshold === null;
    const sets = apart ? questions.map((question) => [question]) : [questions];
    return sets.flatMap((set, at) => {
      const sizes = set.map(Questions.countOf);
      const asked = [chosen.threshold, set.map(({ name, mechanism }) => [name, mechanism]), sizes];
      const table = remembered(survey, asked, () => every(sizes).map((one) => fresh(survey, chosen, set, one)));
      return table[placeOf(sizes, apart ? [codes[at]] : codes)];
    });
  }

  /** What is remembered under the name that the waves share, of this very thing; made and stored if there is nothing. */
  function remembered(survey, thing, make) {
    const memory = JSON.parse(localStorage.getItem(memoryPlace(survey))) ?? {};
    const key = JSON.stringify(thing);
    if (!Object.hasOwn(memory, key)) {
      memory[key] = make();
      localStorage.setItem(memoryPlace(survey), JSON.stringify(memory));
    }
    return memory[key];
  }

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

  /**
   * The ε of what is drawn from, whatever the survey says it is; undefined where its chances are none.
   */
  function epsilon(survey) {
    const isSound = (question) =>
      Questions.isSound(question) && Perturb.isSound(question.mechanism, Questions.countOf(question));
    const mechanisms = Object.fromEntries(survey.questions.map(({ name, mechanism }) => [name, mechanism]));
    const areNamed = Object.keys(mechanisms).length === survey.questions.length; // a name means one question
    if (!areNamed || !survey.questions.every(isSound) || !Perturb.areSound(survey.tells, mechanisms)) return undefined;
    const told = ({ questions }) => questions.map((name) => mechanisms[name]);
    return Math.max(...survey.tells.map((one) => Perturb.tellEpsilon(one, told(one))));
  }

  return Object.freeze({ stored, tell, questionsOf, once, mark, epsilon });
})();
