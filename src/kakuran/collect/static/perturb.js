"use strict";
/*
 * kakuran: how an answer is perturbed on the respondent's own device, before anything leaves it.
 *
 * This file alone decides what is sent. It reads no page, stores nothing and talks to nobody: it turns the code of a
 * true answer (0, 1, 2 … in the order of the question's answers, or steps above its lowest number) into the code of
 * the answer to send. To audit it, start at `sampler`, which picks one of four mechanisms, each a few lines, and, where
 * not everybody tells everything, at `choice`, which draws the questions, and `telling`, which perturbs their answers.
 *
 * - Chance comes from the browser's cryptographic generator (Web Crypto), 32 bits at a time.
 * - All arithmetic is in whole numbers (BigInt). No probability is rounded: what the survey promises is what is drawn.
 * - Where a random number does not divide evenly among the outcomes, it is thrown away and drawn again (rejection).
 *
 * Given the same random words, kakuran's Python mechanisms release the same code; tests/browser/test_draws.py holds
 * both to it, and 20,000 draws of each mechanism in a browser to its claimed distribution.
 */
const Perturb = (() => {
  const WORD = 1n << 32n; // how many values a random word has
  const TOTAL = 1n << 63n; // what the weights of one distribution add up to: weight w has probability w / 2⁶³
  const ROUNDED = 1n << 14n; // what a weight may be off by, so that all add up

  /** A random whole number 0 … 2³²−1 from the browser's cryptographic generator. */
  function secureWord() {
    return BigInt(crypto.getRandomValues(new Uint32Array(1))[0]);
  }

  /** Two words as one number 0 … 2⁶⁴−1, the low half first. */
  function doubleWord(nextWord) {
    const low = nextWord();
    return (nextWord() << 32n) | low;
  }

  /**
   * A word as a whole number 0 … bound−1, or undefined where taking it would favour some of them.
   * word · bound / 2³² falls into `bound` intervals; skipping the first 2³² mod bound of the remainders makes
   * them equally long (Lemire's method).
   */
  function scaled(word, bound) {
    const product = word * bound;
    return product % WORD < WORD % bound ? undefined : product / WORD;
  }

  /** A whole number 0 … bound−1, all equally likely. */
  function below(bound, nextWord) {
    for (;;) {
      const drawn = scaled(nextWord(), bound);
      if (drawn !== undefined) return drawn;
    }
  }

  /**
   * Draws place i with probability weights[i] / 2⁶³ from one random number: Walker's alias method.
   *
   * Places become columns of equal capacity. A column with too little weight is topped up by one with too much, so
   * that each is shared by at most two places: its own below the column's `cut`, `other` from there on. The high bits
   * of the random number choose the column.
   */
  function aliasTable(weights) {
    let bits = 1;
    while (1 << bits < weights.length) bits += 1;
    const capacity = TOTAL >> BigInt(bits);
    const own = Array.from({ length: 1 << bits }, (_, place) => weights[place] ?? 0n);
    const other = own.map((_, place) => place);
    const small = other.filter((place) => own[place] < capacity);
    const large = other.filter((place) => own[place] >= capacity);
    const lacking = runningTotals(small.map((place) => capacity - own[place]));
    const spare = runningTotals(large.map((place) => own[place] - capacity));

    // Each small column is topped up by the first large one that those before it have not used up.
    for (let at = 0, giver = 0; at < small.length; at += 1) {
      const before = at ? lacking[at - 1] : 0n;
      while (spare[giver] <= before) giver += 1;
      other[small[at]] = large[giver];
    }
    // A large column may give away more than it can spare; the next large one makes up for it.
    for (let at = 0, taker = 0; at < large.length; at += 1) {
      let overdrawn = 0n;
      if (small.length && spare[at] > 0n) {
        while (lacking[taker] < spare[at]) taker += 1;
        overdrawn = lacking[taker] - spare[at];
      }
      own[large[at]] = capacity - overdrawn;
      if (overdrawn > 0n && at + 1 < large.length) other[large[at]] = large[at + 1];
    }

    const cut = own.map((share, column) => (BigInt(column) * capacity + share) << 1n);
    return (number) => {
      const column = Number(number >> BigInt(64 - bits));
      return number < cut[column] ? column : other[column];
    };
  }

  function runningTotals(values) {
    let total = 0n;
    return values.map((value) => (total += value));
  }

  /**
   * Retention-replacement: the answer is kept with probability threshold / 2⁶⁴, else replaced by any of the possible
   * answers, all equally likely (the true one among them).
   */
  function retention({ size, threshold }) {
    const keepBelow = BigInt(threshold);
    const [high, low] = [keepBelow / WORD, keepBelow % WORD];
    const bound = BigInt(size);
    return (code, nextWord) => {
      const coin = nextWord();
      const first = nextWord();
      const isKept = coin === high ? nextWord() < low : coin < high; // 32 more bits where 32 cannot decide
      const replacement = scaled(first, bound) ?? below(bound, nextWord);
      return isKept ? code : Number(replacement);
    };
  }

  /**
   * Two levels: with probability threshold / 2⁶⁴ one of the codes near the true one is released, else any of all codes
   * that may be, all equally likely either way. What is near, `neighbourhoods` says. Of several answers that are told
   * together all are near or all are any: one coin decides for them.
   */
  function together(threshold, mechanisms) {
    const nearBelow = BigInt(threshold);
    const [high, low] = [nearBelow / WORD, nearBelow % WORD];
    const each = mechanisms.map((mechanism) => neighbourhoods[mechanism.kind](mechanism));
    return (codes, nextWord) => {
      const coin = nextWord();
      const isNear = coin === high ? nextWord() < low : coin < high; // 32 more bits where 32 cannot decide
      return each.map(({ near, outputs, around, anywhere }, at) => {
        const place = Number(below(BigInt(isNear ? near : outputs), nextWord));
        return isNear ? around(codes[at], place) : anywhere(place);
      });
    };
  }

  function twoLevel(mechanism) {
    const draw = together(mechanism.threshold, [mechanism]);
    return (code, nextWord) => draw([code], nextWord)[0];
  }

  /**
   * How many codes are `near` each true one and how many `outputs` there are, and which code is at a place among them.
   * - window, for numbers: those at most half_width steps away, also beyond the bounds. A missing number (the last true
   *   code) has as many outputs of its own, all of which are released as missing.
   * - shifts, for categories: those some places on, in a circle. A code so stands for several answers at once.
   */
  const neighbourhoods = {
    window({ size, half_width: half, may_be_missing: mayBeMissing }) {
      const points = size - Number(mayBeMissing);
      const near = 2 * half + 1;
      return {
        near,
        outputs: points + 2 * half + (mayBeMissing ? near : 0),
        around: (code, place) => (code === points ? points + half : code - half + place),
        anywhere: (place) => Math.min(place - half, points + half),
      };
    },
    shifts({ size, shifts }) {
      return {
        near: shifts.length,
        outputs: size,
        around: (code, place) => (code + shifts[place]) % size,
        anywhere: (place) => place,
      };
    },
  };

  /**
   * Noise on a number: moved by a random number of steps. weights[d] is the weight of moving d steps up, and of
   * moving d steps down. A move beyond the permitted codes −reach … size−1+reach is drawn again.
   */
  function noise({ size, reach, weights }) {
    const upwards = weights.map(BigInt);
    const farthest = upwards.length - 1;
    const moves = [...upwards.slice(1).reverse(), ...upwards];
    // What the weights leave of 2⁶³ is one more move, too far for any code, so it is drawn again.
    const draw = aliasTable([...moves, moves.reduce((left, weight) => left - weight, TOTAL)]);
    return (code, nextWord) => {
      for (;;) {
        const released = code + draw(doubleWord(nextWord)) - farthest;
        if (released >= -reach && released < size + reach) return released;
      }
    };
  }

  /** A matrix of probabilities (PRAM): weights[a][b] is the weight of answer a becoming answer b. */
  function pram({ weights }) {
    const rows = weights.map((row) => aliasTable(row.map(BigInt)));
    return (code, nextWord) => rows[code](doubleWord(nextWord));
  }

  /**
   * How to draw what is released for a true code, by a mechanism as the survey describes it.
   * Tests pass their own words; a page never does.
   */
  function sampler(mechanism) {
    const draw = { retention, noise, pram, window: twoLevel, shifts: twoLevel }[mechanism.kind](mechanism);
    return (code, nextWord = secureWord) => draw(code, nextWord);
  }

  /** How to draw which of several sets of questions is told: its place, with probability weight / 2⁶³. */
  function choice(tells) {
    const draw = aliasTable(tells.map(({ weight }) => BigInt(weight)));
    return (nextWord = secureWord) => (tells.length > 1 ? draw(doubleWord(nextWord)) : 0);
  }

  /** How to draw what is released for the true codes of a set of questions, whose mechanisms come in the same order. */
  function telling({ threshold }, mechanisms) {
    const draw = threshold === null ? apart(mechanisms) : together(threshold, mechanisms);
    return (codes, nextWord = secureWord) => draw(codes, nextWord);
  }

  function apart(mechanisms) {
    const draws = mechanisms.map((mechanism) => sampler(mechanism));
    return (codes, nextWord) => draws.map((draw, at) => draw(codes[at], nextWord));
  }

  /** Whether a mechanism is one for so many codes and its numbers are chances; a page draws from no other. */
  function isSound(mechanism, codes) {
    const { kind, size, reach = 0, threshold = 0, weights = [], shifts = [], half_width: half = 0 } = mechanism;
    const rows = kind === "pram" ? weights : kind === "noise" ? [[...weights.slice(1), ...weights]] : [];
    const totals = rows.map((row) => row.reduce((sum, weight) => sum + BigInt(weight), 0n));
    const isShift = (one) => Number.isInteger(one) && one >= 0 && one < size;
    const isFull = {
      retention: true,
      noise: totals[0] <= TOTAL,
      pram: totals.every((total) => total === TOTAL),
      window: Number.isInteger(half) && half >= 0,
      shifts: shifts.length > 0 && shifts.every(isShift) && new Set(shifts).size === shifts.length,
    }[kind];
    const long = { noise: size + reach, pram: size }[kind] ?? 0;
    const isShaped = weights.length === long && (kind !== "pram" || rows.every((row) => row.length === size));
    const isChance = [threshold, ...rows.flat()].every((one) => BigInt(one) >= 0n && BigInt(one) <= 1n << 64n);
    return size === codes && reach >= 0 && isFull && isShaped && isChance;
  }

  /**
   * ε of a mechanism: the logarithm of how many times likelier one true answer makes what is released than another can.
   * Computed from the very numbers that are drawn from, so that a page need not believe what a server says of them.
   */
  function epsilon(mechanism) {
    return ({ noise: noiseEpsilon, pram: pramEpsilon }[mechanism.kind] ?? twoLevelEpsilon)(mechanism);
  }

  function twoLevelEpsilon(mechanism) {
    const { near, outputs } = neighbourhoods[mechanism.kind]?.(mechanism) ?? { near: 1, outputs: mechanism.size };
    return levelsEpsilon(mechanism.threshold, outputs / near);
  }

  /** Of two levels, where all outputs are so many times those near an answer. */
  function levelsEpsilon(threshold, levels) {
    const kept = Number(BigInt(threshold)) / 2 ** 64;
    return Math.log1p((levels * kept) / (1 - kept));
  }

  /** ε of a set of questions: of all as one value, or the sum over those that are perturbed on their own. */
  function tellEpsilon({ threshold }, mechanisms) {
    if (threshold === null) return mechanisms.reduce((sum, mechanism) => sum + epsilon(mechanism), 0);
    const levels = mechanisms.map((mechanism) => neighbourhoods[mechanism.kind](mechanism));
    return levelsEpsilon(threshold, levels.reduce((product, { near, outputs }) => product * (outputs / near), 1));
  }

  /**
   * Whether sets of questions are drawn as a page says: every set as likely as any other but for rounding, every
   * question in one of them, and each perturbed by numbers that are chances. `mechanisms` has those of all questions.
   */
  function areSound(tells, mechanisms) {
    const weights = tells.map(({ weight }) => BigInt(weight));
    const isEven = (weight) => weight * BigInt(tells.length) - TOTAL < ROUNDED * BigInt(tells.length);
    const names = Object.keys(mechanisms);
    return (
      weights.reduce((sum, weight) => sum + weight, 0n) === TOTAL &&
      weights.every(isEven) &&
      names.every((name) => tells.some(({ questions }) => questions.includes(name))) &&
      tells.every((tell) => isSoundTell(tell, mechanisms))
    );
  }

  function isSoundTell({ questions, threshold }, mechanisms) {
    const isKnown = (name) => Object.hasOwn(mechanisms, name);
    if (new Set(questions).size < questions.length || !questions.every(isKnown)) return false;
    const told = questions.map((name) => mechanisms[name]);
    if (threshold === null) return told.every((one) => one.threshold !== undefined || one.weights !== undefined);
    const isChance = BigInt(threshold) >= 0n && BigInt(threshold) <= 1n << 64n;
    return isChance && told.every(({ kind }) => Object.hasOwn(neighbourhoods, kind));
  }

  function noiseEpsilon({ size, reach, weights }) {
    const weight = weights.map(Number);
    let [total, most] = [0, 0];
    const upTo = weight.map((one) => (total += one));
    const mass = (code) => upTo[code + reach] + upTo[size - 1 - code + reach] - weight[0];
    // Up and down weigh the same, so the upper half of what can be released mirrors the lower one.
    for (let released = -reach; released <= size / 2; released += 1) {
      let [likeliest, least] = [0, Infinity];
      for (let code = 0; code < size; code += 1) {
        const chance = weight[Math.abs(released - code)] / mass(code);
        if (chance > likeliest) likeliest = chance;
        if (chance < least) least = chance;
      }
      if (likeliest > 0) most = Math.max(most, Math.log(likeliest / least));
    }
    return most;
  }

  function pramEpsilon({ weights }) {
    const columns = weights.map((_, released) => weights.map((row) => Number(row[released])));
    return Math.max(...columns.map((one) => Math.max(...one) && Math.log(Math.max(...one) / Math.min(...one))));
  }

  return Object.freeze({ sampler, choice, telling, isSound, areSound, epsilon, tellEpsilon });
})();
