// A reader's verdict by the book's rule: an estimate of what training sets gave, with an interval that holds however often one looks
// (companion.estimates, `anytime`), and what it says of a band that was accepted before; seeds in addresses.
(function (explore) {
  "use strict";
  const FEWEST = 5, LAST = 1e6; // training sets of a verdict; seeds

  // Student's quantile of 97.5 %: with u = √df tan a the density is cos^(df-1) a, summed by Simpson's rule
  function quantile(df) {
    function below(end) {
      const n = 2000, top = Math.atan(end / Math.sqrt(df)), f = (i) => Math.cos(top * i / n) ** (df - 1);
      let sum = f(0) + f(n);
      for (let i = 1; i < n; i++) sum += (i % 2 ? 4 : 2) * f(i);
      return sum * top / n;
    }
    const whole = below(Infinity);
    let low = 0, high = 100;
    for (let i = 0; i < 50; i++) [low, high] = below((low + high) / 2) < 0.95 * whole ? [(low + high) / 2, high] : [low, (low + high) / 2];
    return low;
  }

  const wider = (n) => Math.sqrt((n + 3) / n * Math.log((n + 3) / 3 / 0.0025)) / 1.959964;

  function student(values) {
    const n = values.length, value = values.reduce((sum, one) => sum + one, 0) / n;
    if (n < 2) return { n, value, half: Infinity };
    const scatter = Math.sqrt(values.reduce((sum, one) => sum + (one - value) ** 2, 0) / (n - 1));
    return { n, value, half: quantile(n - 1) * scatter / Math.sqrt(n) };
  }

  // the mean
  function mean(values) {
    const { n, value, half } = student(values);
    return { n, value, low: value - wider(n) * half, high: value + wider(n) * half };
  }

  // the geometric mean, of ratios
  function ratio(values) {
    const { n, value, half } = student(values.map(Math.log)), middle = Math.exp(value);
    if (n < 2) return { n, value: middle, low: -Infinity, high: Infinity };
    return { n, value: middle, low: middle - wider(n) * (middle - Math.exp(value - half)), high: middle + wider(n) * (Math.exp(value + half) - middle) };
  }

  // by a band [from, to] and, where the paper's statement is corrected, that of the correction
  function verdict({ n, low, high }, accept, corrected) {
    const inside = ([from, to]) => low >= from && high <= to, outside = ([from, to]) => low > to || high < from;
    if (n < FEWEST) return "undecided";
    if (inside(accept)) return "reproduced";
    if (!outside(accept)) return "undecided";
    return corrected && inside(corrected) ? "corrected" : corrected && !outside(corrected) ? "undecided" : "not reproduced";
  }

  // the seeds in addresses: `#explore-twin?p=128&seeds=1-6&guess=1`
  function seedsIn(text) {
    const ranges = [...text.matchAll(/seeds=(\d+)(?:-(\d+))?/g)].map((found) => [+found[1], +(found[2] || found[1])]);
    const all = ranges.flatMap(([from, to]) => Array.from({ length: Math.max(0, Math.min(to - from + 1, 1000)) }, (_, i) => from + i));
    return [...new Set(all.filter((seed) => seed >= 1 && seed <= LAST))];
  }

  function listed(seeds) {
    const sorted = [...seeds].sort((a, b) => a - b), parts = [];
    sorted.forEach((seed) => (parts.length && parts[parts.length - 1][1] === seed - 1 ? (parts[parts.length - 1][1] = seed) : parts.push([seed, seed])));
    return parts.map(([from, to]) => `seeds=${from}${to > from ? "-" + to : ""}`).join("&");
  }

  // an address as it was written; one that is broken stays as it is
  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  }

  // what an address asks of one part of the page, `p=128&seeds=1-6`, or null
  function asked(hash, id) {
    const [target, given] = decoded(hash.slice(1)).split("?");
    return id && target === id && given ? given : null;
  }

  // what others pasted: the seeds that are new, and a sentence on what became of each link. `p`: points, if links name them
  function pooled(text, { id, p, known }) {
    const links = text.split(/\s+|(?=https?:|file:)/).map(decoded).filter((one) => /[#=/]/.test(one)), out = new Map(), found = [];
    const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
    links.forEach((link) => {
      const target = link.match(/#([^?]*)/), points = link.match(/[?&]p=(\d+)/), seeds = seedsIn(link);
      const why = target && target[1] !== id ? "of another experiment" : p && points && +points[1] !== p ? `with ${points[1]} points instead of ${p}` : seeds.length ? "" : "without training sets";
      if (why) out.set(why, (out.get(why) || 0) + 1);
      else found.push(...seeds);
    });
    const seeds = [...new Set(found)].filter((seed) => !known.has(seed)), again = found.length - seeds.length;
    if (!links.length) return { seeds, said: "There is no link in this." };
    const left = [...out].map(([why, n]) => `${count(n, "link")} ${why}`);
    return { seeds, said: (seeds.length ? `${count(seeds.length, "training set")} added` : "No training set added") + (again ? `; ${again} counted already` : "") + (left.length ? `; left out: ${left.join(", ")}` : "") + "." };
  }

  // ticks of an axis of so many training sets
  const counts = (n) => (n > 10 ? [1, Math.round(n / 2), n] : [1, 5, 10]).map((one) => [one, String(one)]);

  explore.judge = { counts, FEWEST, LAST, quantile, mean, ratio, verdict, seedsIn, listed, decoded, asked, pooled };
  explore.judge.MARKS = { reproduced: "✔ reproduced by you", corrected: "✎ corrected, by you too", "not reproduced": "✘ not reproduced", undecided: "? undecided" };
})(globalThis.Explore = globalThis.Explore || {});
