"use strict";
/*
 * kakuran: how an answer is perturbed on the respondent's own device, before anything leaves it.
 *
 * This file alone decides what is sent. It reads no page, stores nothing and talks to nobody: it turns the code of a
 * true answer (0, 1, 2 … in the order of the question's answers, or steps above its lowest number) into the code of
 * the answer to send. To audit it, start at `telling`, which perturbs the answers to some questions by one of five kinds
 * of mechanism, each a few lines, and, where not everybody is asked everything, at `choice`, which draws the questions.
 * Numbers come from definition.js, which lets none pass that is of another type or shape than is read here.
 *
 * - Chance comes from the browser's cryptographic generator (Web Crypto), 32 bits at a time.
 * - All arithmetic is in whole numbers (BigInt). No probability is rounded: what the survey promises is what is drawn.
 * - ε is counted off the very tables that are drawn from, whatever a server says it is.
 * - Where a random number does not divide evenly among the outcomes, it is thrown away and drawn again (rejection).
 *
 * Given the same random words, kakuran's Python mechanisms release the same code; tests/browser/test_draws.py holds
 * both to it, and 20,000 draws of each mechanism in a browser to its claimed distribution.
 */
const Perturb = (() => {
  const WORD = 1n << 32n; // how many values a random word has
  const RARE = 2 ** 60; // of 2⁶⁴: what is drawn again more often takes a time that tells the answer
  const TOTAL = 1n << 63n; // what the weights of one distribution add up to: weight w has probability w / 2⁶³

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
   * of the random number choose the column. `chances` are those of the places, of 2⁶⁴, counted off the columns.
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
    const chances = own.map(() => 0n);
    cut.forEach((end, column) => {
      const start = (BigInt(column) * capacity) << 1n;
      chances[column] += end - start;
      chances[other[column]] += start + (capacity << 1n) - end;
    });
    const draw = (number) => {
      const column = Number(number >> BigInt(64 - bits));
      return number < cut[column] ? column : other[column];
    };
    return { draw, chances };
  }

  function runningTotals(values) {
    let total = 0n;
    return values.map((value) => (total += value));
  }

  // Mechanisms: how each draws what is released for a true code, and its ε.

  /**
   * Retention-replacement: the answer is kept with probability threshold / 2⁶⁴, else replaced by any of the possible
   * answers, all equally likely (the true one among them).
   */
  function retention({ size, threshold }) {
    const [high, low] = [BigInt(threshold) / WORD, BigInt(threshold) % WORD];
    const table = neighbourhoods.shifts({ size, shifts: [0] });
    const bound = BigInt(table.outputs);
    const draw = (code, nextWord) => {
      const coin = nextWord();
      const first = nextWord();
      const isKept = coin === high ? nextWord() < low : coin < high; // 32 more bits where 32 cannot decide
      const replacement = scaled(first, bound) ?? below(bound, nextWord);
      return isKept ? code : Number(replacement);
    };
    return { draw, epsilon: () => twoLevelEpsilon(threshold, [table]) };
  }

  /**
   * Two levels: with probability threshold / 2⁶⁴ one of the places near the true code is released, else any of all
   * places, all equally likely either way. What is near, `neighbourhoods` says. Of several answers that are told
   * together all are near or all are any: one coin decides for them.
   */
  function together(threshold, mechanisms) {
    const [high, low] = [BigInt(threshold) / WORD, BigInt(threshold) % WORD];
    const tables = mechanisms.map((mechanism) => neighbourhoods[mechanism.kind](mechanism));
    const draw = (codes, nextWord) => {
      const coin = nextWord();
      const isNear = coin === high ? nextWord() < low : coin < high; // 32 more bits where 32 cannot decide
      return tables.map(({ near, run, outputs, starts, released }, at) => {
        const place = Number(below(BigInt(isNear ? near : outputs), nextWord));
        return released(isNear ? starts(codes[at])[Math.floor(place / run)] + (place % run) : place);
      });
    };
    return { draw, epsilon: () => twoLevelEpsilon(threshold, tables) };
  }

  function twoLevel(mechanism) {
    const { draw, epsilon } = together(mechanism.threshold, [mechanism]);
    return { draw: (code, nextWord) => draw([code], nextWord)[0], epsilon };
  }

  /**
   * There are `outputs` places, and `near` of them are near a true code: runs of `run` places that start at `starts`.
   * A place is `released` as a code.
   * - window, for numbers: the codes at most half_width steps away, also beyond the bounds. A missing number (the last
   *   true code) has as many places of its own, all of which are released as missing.
   * - shifts, for categories: those some places on, in a circle. A code so stands for several answers at once.
   */
  const neighbourhoods = {
    window({ size, half_width: half, may_be_missing: mayBeMissing }) {
      const points = mayBeMissing ? size - 1 : size;
      const near = 2 * half + 1;
      return {
        size,
        near,
        run: near,
        outputs: points + 2 * half + (mayBeMissing ? near : 0),
        starts: (code) => [code < points ? code : points + 2 * half],
        released: (place) => Math.min(place - half, points + half),
      };
    },
    shifts({ size, shifts }) {
      return {
        size,
        near: shifts.length,
        run: 1,
        outputs: size,
        starts: (code) => shifts.map((shift) => (code + shift) % size),
        released: (place) => place,
      };
    },
  };

  /**
   * ε of two levels: a place that is near has the chance of any place, and on top its part of what stays near. Of
   * answers that are told together, a combination of places is near where all of them are.
   */
  function twoLevelEpsilon(threshold, tables) {
    const odds = Number(BigInt(threshold)) / Number((1n << 64n) - BigInt(threshold));
    const times = tables.reduce((product, { near, outputs }) => product * (outputs / near), odds);
    return tables.some(isTelling) ? Math.log1p(times) : 0;
  }

  /** Whether some place is near one true code and not near another. Counts, run by run, how many each is near. */
  function isTelling({ size, run, outputs, starts }) {
    const begun = new Int32Array(outputs + 1);
    for (let code = 0; code < size; code += 1) {
      for (const start of starts(code)) {
        begun[start] += 1;
        begun[start + run] -= 1;
      }
    }
    let codes = 0;
    return begun.some((change) => (codes += change) > 0 && codes < size);
  }

  /**
   * Noise on a number: moved by a random number of steps. weights[d] is the weight of moving d steps up, and of
   * moving d steps down. A move beyond the permitted codes −reach … size−1+reach is drawn again.
   */
  function noise({ size, reach, weights }) {
    const upwards = weights.map(BigInt);
    const farthest = upwards.length - 1;
    const moves = [...upwards.slice(1).reverse(), ...upwards];
    // What the weights leave of 2⁶³ is one more move, too far for any code, so it is drawn again.
    const table = aliasTable([...moves, moves.reduce((left, weight) => left - weight, TOTAL)]);
    const draw = (code, nextWord) => {
      for (;;) {
        const released = code + table.draw(doubleWord(nextWord)) - farthest;
        if (released >= -reach && released < size + reach) return released;
      }
    };
    const chances = Float64Array.from(table.chances, Number);
    const permitted = (code) => chances.subarray(farthest - code - reach, farthest - code + size + reach);
    return { draw, epsilon: () => rowsEpsilon(size, permitted) };
  }

  /** A matrix of probabilities (PRAM): weights[a][b] is the weight of answer a becoming answer b. */
  function pram({ size, weights }) {
    const rows = weights.map((row) => aliasTable(row.map(BigInt)));
    const draw = (code, nextWord) => rows[code].draw(doubleWord(nextWord));
    return { draw, epsilon: () => rowsEpsilon(size, (code) => Float64Array.from(rows[code].chances, Number)) };
  }

  /** ε of chances row by row, one for each true code: of what can be released, what one makes likelier than another. */
  function rowsEpsilon(size, rowOf) {
    const { length } = rowOf(0);
    const [most, least] = [new Float64Array(length), new Float64Array(length).fill(Infinity)];
    for (let code = 0; code < size; code += 1) {
      const row = rowOf(code);
      let total = 0;
      for (let place = 0; place < length; place += 1) total += row[place];
      if (total < RARE) return Infinity; // of such an answer hardly anything is ever released
      for (let place = 0; place < length; place += 1) {
        const chance = row[place] / total;
        if (chance > most[place]) most[place] = chance;
        if (chance < least[place]) least[place] = chance;
      }
    }
    return most.reduce((worst, chance, place) => Math.max(worst, chance && Math.log(chance / least[place])), 0);
  }

  const kinds = { retention, noise, pram, window: twoLevel, shifts: twoLevel };

  /** Answers that are perturbed one by one: their ε add up. */
  function apart(mechanisms) {
    const each = mechanisms.map((mechanism) => kinds[mechanism.kind](mechanism));
    return {
      draw: (codes, nextWord) => each.map(({ draw }, at) => draw(codes[at], nextWord)),
      epsilon: () => each.reduce((sum, { epsilon }) => sum + epsilon(), 0),
    };
  }

  /**
   * How to draw what is released for the true codes of a set of questions, whose mechanisms come in the same order, and
   * ε of that: the logarithm of how many times likelier some true answers make what is released than others can.
   * Tests pass their own words; a page never does.
   */
  function telling({ threshold }, mechanisms) {
    const { draw, epsilon } = threshold === null ? apart(mechanisms) : together(threshold, mechanisms);
    const isCode = (code, at) => Number.isInteger(code) && code >= 0 && code < mechanisms[at].size;
    return Object.freeze({
      epsilon,
      draw(codes, nextWord = secureWord) {
        if (!codes.every(isCode)) throw new RangeError("an answer that cannot be perturbed");
        return draw(codes, nextWord);
      },
    });
  }

  /** How to draw which of several sets of questions is told: its place, and the chances of all places, of 2⁶⁴. */
  function choice(tells) {
    const { draw, chances } = aliasTable(tells.map(({ weight }) => BigInt(weight)));
    return Object.freeze({
      chances,
      draw: (nextWord = secureWord) => (tells.length > 1 ? draw(doubleWord(nextWord)) : 0),
    });
  }

  return Object.freeze({ telling, choice });
})();
