// Claims that a page measures itself and that solve linear equations: a deep infinite network against the law of L + c (chapter 5), one
// gradient step whose samples serve the readout, too (chapter 7). As live.js; tests compare both with the engine.
(function (explore) {
  "use strict";
  const live = (explore.live = explore.live || {}), T = 3 * Math.PI;

  // X with A X = B for a positive A, row-major of n and of n by k, by Cholesky; B is overwritten
  function* solve(A, B, n, k) {
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) {
        let sum = A[i * n + j];
        for (let l = 0; l < j; l++) sum -= A[i * n + l] * A[j * n + l];
        A[i * n + j] = i === j ? Math.sqrt(Math.max(sum, 1e-300)) : sum / A[j * n + j];
      }
      if (i % 16 === 0) yield;
    }
    for (let c = 0; c < k; c++) {
      for (let i = 0; i < n; i++) {
        for (let l = 0; l < i; l++) B[i * k + c] -= A[i * n + l] * B[l * k + c];
        B[i * k + c] /= A[i * n + i];
      }
      for (let i = n - 1; i >= 0; i--) {
        for (let l = i + 1; l < n; l++) B[i * k + c] -= A[l * n + i] * B[l * k + c];
        B[i * k + c] /= A[i * n + i];
      }
    }
    return B;
  }

  // M with M − (3/2) ln M + a/M = total
  const A1 = 6.921762640653613, G1 = -23.259330232532754; // 3π a₁ and 3π g₁ of the layer map's local series
  function inverse(total) {
    let m = Math.max(4, total) + 1.5 * Math.log(Math.max(4, total));
    for (let i = 0; i < 6; i++) m -= (m - 1.5 * Math.log(m) + A1 / m - Math.max(4, total)) / (1 - 1.5 / m - A1 / m ** 2);
    return m;
  }

  // the offset c of an angle, from a hundred layers on; tabled by what is smooth of it
  const LAYERS = 400, NODES = 240;
  let table = null;
  function offset(phi) {
    const bare = (x) => T / x + 1.5 * Math.log(x);
    table = table || Array.from({ length: NODES + 1 }, (_, i) => {
      const x = Math.PI * Math.max(i, 0.25) / NODES, m = T / (explore.depth.along(x * 180 / Math.PI, [LAYERS + 1])[0][2] * Math.PI / 180);
      return m - 1.5 * Math.log(m) + A1 / m - (LAYERS + 1) - bare(x);
    });
    const place = Math.min(NODES - 1e-9, phi / Math.PI * NODES), i = Math.floor(place), t = place - i;
    return bare(phi) + (1 - t) * table[i] + t * table[i + 1];
  }

  // the kernel of depth L from an angle alone: that of the network, and the law of L + c
  const deep = (phi, depth) => explore.depth.along(phi * 180 / Math.PI, [depth])[0][1];
  function law(phi, depth) {
    const m = inverse(depth + offset(phi)), start = inverse(1 + offset(phi));
    return (m / 4 - 1 / 8 + G1 / m - (start / 4 - 9 / 8) * (start / m) ** 3) / depth;
  }

  // predictions on other points of a sphere, over the variation of the network's
  function* distance(n, fresh, dimensions, depth, seed) {
    const normal = explore.normal(seed);
    const x = Array.from({ length: n + fresh }, () => {
      const row = Array.from({ length: dimensions }, normal), size = Math.hypot(...row);
      return row.map((value) => value / size);
    });
    const angle = (u, v) => Math.acos(Math.max(-1, Math.min(1, u.reduce((sum, value, i) => sum + value * v[i], 0))));
    const y = () => Float64Array.from({ length: 2 * n }, (_, i) => (i % 2 ? x[i >> 1][0] * x[i >> 1][1] : Math.sign(x[i >> 1][0])));
    const predictions = [];
    for (const kernel of [deep, law]) {
      const gram = new Float64Array(n * n), out = new Float64Array(2 * fresh);
      for (let i = 0; i < n; i++) {
        gram[i * n + i] = 1;
        for (let j = 0; j < i; j++) gram[i * n + j] = gram[j * n + i] = kernel(angle(x[i], x[j]), depth);
        if (i % 8 === 0) yield;
      }
      const weights = yield* solve(gram, y(), n, 2);
      for (let m = 0; m < fresh; m++) {
        for (let j = 0; j < n; j++) {
          const value = kernel(angle(x[n + m], x[j]), depth);
          out[2 * m] += value * weights[2 * j];
          out[2 * m + 1] += value * weights[2 * j + 1];
        }
        if (m % 8 === 0) yield;
      }
      predictions.push(out);
    }
    const [f, g] = predictions, middle = [0, 1].map((k) => f.reduce((sum, value, i) => sum + (i % 2 === k ? value / fresh : 0), 0));
    const square = (of) => f.reduce((sum, value, i) => sum + of(value, i) ** 2, 0);
    return Math.sqrt(square((value, i) => g[i] - value) / square((value, i) => value - middle[i % 2]));
  }
  live["C.Thm3-uniform"] = {
    here: "Here: 300 points to learn on the 2-sphere and 100 others, depth 20; the book has spheres of up to five dimensions and depths up to 60, too.", kind: "mean",
    one: (seed) => distance(300, 100, 3, 20, seed),
  };

  // one step on α₀ d samples, readout on α d, the same if α₀ = 0; target sign. The error, and that of linear regression on the readout's
  // samples with the best of thirteen penalties
  const T1 = Math.sqrt(2 / Math.PI), D = 100, TEST = 2000;
  function* stepped(alpha0, alpha, size, lam, seed) {
    const normal = explore.normal(seed), n = alpha * D, n0 = alpha0 * D || n, numbers = (count) => Float64Array.from({ length: count }, normal);
    const label = (rows, count) => Float64Array.from({ length: count }, (_, m) => Math.sign(rows[m * D])); // the target is the first axis
    const first = numbers(n0 * D), x = alpha0 ? numbers(n * D) : first, y = label(x, n), y0 = label(first, n0);
    const w = numbers(D * D), z = new Float64Array(n0 * D), moved = new Float64Array(D * D);
    for (let i = 0; i < D; i++) {
      const length = Math.hypot(...w.subarray(i * D, (i + 1) * D));
      for (let j = 0; j < D; j++) w[i * D + j] /= length;
    }
    const times = (points, count, weights, out) => {
      for (let m = 0; m < count; m++) for (let i = 0; i < D; i++) {
        let sum = 0;
        for (let j = 0; j < D; j++) sum += points[m * D + j] * weights[i * D + j];
        out[m * D + i] = Math.tanh(sum);
      }
      return out;
    };
    times(first, n0, w, z);
    yield;
    for (let m = 0; m < n0; m++) {
      let mean = 0;
      for (let i = 0; i < D; i++) mean += z[m * D + i] / D;
      for (let i = 0; i < D; i++) {
        const pull = size / n0 * (y0[m] - mean) * (1 - z[m * D + i] ** 2);
        for (let j = 0; j < D; j++) moved[i * D + j] += pull * first[m * D + j];
      }
      if (m % 32 === 0) yield;
    }
    for (let i = 0; i < D * D; i++) w[i] += moved[i];
    // rows of features or inputs, regressed on the labels with a penalty
    function* readout(rows, penalty) {
      const gram = new Float64Array(D * D), right = new Float64Array(D);
      for (let m = 0; m < n; m++) for (let i = 0; i < D; i++) {
        const value = rows[m * D + i];
        right[i] += value * y[m];
        for (let j = 0; j <= i; j++) gram[i * D + j] += value * rows[m * D + j];
      }
      for (let i = 0; i < D; i++) gram[i * D + i] += penalty;
      yield;
      return yield* solve(gram, right, D, 1);
    }
    const a = yield* readout(times(x, n, w, new Float64Array(n * D)), lam * D); // features over √d
    const fresh = numbers(TEST * D);
    for (let m = 0; m < TEST; m++) { // stratified along the target
      let [low, high] = [-6, 6];
      for (let i = 0; i < 40; i++) [low, high] = explore.below((low + high) / 2) < (m + 0.5) / TEST ? [(low + high) / 2, high] : [low, (low + high) / 2];
      fresh[m * D] = low;
    }
    const features = times(fresh, TEST, w, new Float64Array(TEST * D));
    yield;
    let error = 0;
    for (let m = 0; m < TEST; m++) {
      let f = 0;
      for (let i = 0; i < D; i++) f += a[i] * features[m * D + i];
      error += (Math.sign(fresh[m * D]) - f) ** 2 / TEST;
    }
    let least = Infinity;
    for (let k = 0; k < 13; k++) {
      const v = yield* readout(x, (1 - T1 ** 2) * D / T1 ** 2 * 2 ** (k / 2 - 3));
      least = Math.min(least, 1 - 2 * T1 * v[0] + v.reduce((sum, value) => sum + value * value, 0));
    }
    return { error, least };
  }

  const LINEAR = 1 - T1 ** 2; // the error of the best linear function
  const sizes = `Here: ${D} dimensions and as many neurons; the book has more.`;
  const SETS = 8;
  live["E.Reuse-linear"] = {
    here: `${sizes} Each number is the geometric mean of ${SETS} training sets.`, kind: "ratio",
    * one(seed) {
      let sum = 0;
      for (let k = 0; k < SETS; k++) {
        const { error, least } = yield* stepped(0, 4, 3.14, 0.23, SETS * seed + k);
        sum += Math.log(error / least) / SETS;
      }
      return Math.exp(sum);
    },
  };
  live["E.Fig2-beats-linear"] = {
    here: sizes, kind: "mean",
    * one(seed) { return LINEAR - (yield* stepped(16, 4, 3, 1, seed)).error; },
  };
  explore.dense = { solve, offset, law };
})(globalThis.Explore = globalThis.Explore || {});
