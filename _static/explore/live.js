// Claims that a page measures itself, from training sets of the reader: `Explore.live[id] = {here, uses, mean or ratio, one(seed)}`.
// `one` is a generator, which yields often and returns the number of one training set. Here: those of the networks of stripe.js, of
// depth.js and of jam.js; dense.js has those that solve for kernels.
(function (explore) {
  "use strict";
  const live = (explore.live = explore.live || {});
  const P = 300, H = 60, NETWORKS = 8, TOLERANCE = 0.15, FULL = 0.999;

  // trains on points of the stripe in the plane until a share of them is fitted; at the end to a tolerance
  function* trained(seed, alpha, share, p = P) {
    const given = explore.stripe.draw(p, H, explore.stripe.PLANES[2], seed), it = explore.stripe.flow(given, alpha, TOLERANCE);
    const slack = share === FULL ? TOLERANCE : 0;
    while (it.left(slack) > (1 - share) * p && it.steps < 12000 && it.step()) if (it.steps % 8 === 0) yield;
    return { it, start: given.weights };
  }

  // of Σ (βω)² along the first axis
  function share(w) {
    let along = 0, all = 0;
    for (let k = 0; k < w.length; k += 4) {
      along += (w[k + 3] * w[k]) ** 2;
      all += w[k + 3] ** 2 * (w[k] ** 2 + w[k + 1] ** 2);
    }
    return along / all;
  }

  function grown(w) {
    let [along, across] = [0, 0];
    for (let k = 0; k < w.length; k += 4) [along, across] = [along + w[k] ** 2, across + w[k + 1] ** 2];
    return Math.sqrt(along / across);
  }

  const plane = `Here: ${P} points of the plane and ${H} neurons, at the output scale `;
  live["A.Fig2-feature"] = {
    here: plane + "10⁻⁴. The book has 500 neurons.", kind: "mean",
    * one(seed) { return share((yield* trained(seed, 1e-4, FULL)).it.weights); },
  };
  live["A.Fig2-lazy"] = {
    here: plane + "10⁴. The book has 500 neurons.", kind: "mean",
    * one(seed) {
      const { it, start } = yield* trained(seed, 1e4, FULL);
      return share(it.weights) - share(start);
    },
  };
  live["A.Fig1-inflation"] = {
    here: `Here: the geometric mean of ${NETWORKS} networks of ${H} neurons, each on ${P} points of the plane, at the output scale 10⁻⁶, until a tenth of the points is fitted. The book has 500 neurons.`, kind: "ratio",
    * one(seed) {
      let sum = 0;
      for (let k = 0; k < NETWORKS; k++) {
        const { it, start } = yield* trained(NETWORKS * seed + k, 1e-6, 0.1);
        sum += Math.log(grown(it.weights) / grown(start)) / NETWORKS;
      }
      return Math.exp(sum);
    },
  };

  // no claim of the book: what chapter 2's lesson has a class measure, the exponent of the compression in the number of points
  const FEW = 32, MANY = 512;
  live.compression = {
    here: `Here: ${NETWORKS} networks of ${H} neurons in the plane, on ${FEW} points and on ${MANY}, until a tenth of them is fitted.`, kind: "mean",
    * one(seed) {
      let sum = 0;
      for (const [p, sign] of [[MANY, 1], [FEW, -1]]) {
        for (let k = 0; k < NETWORKS; k++) {
          sum += sign * Math.log(grown((yield* trained(NETWORKS * seed + k, 1e-6, 0.1, p)).it.weights)) / NETWORKS;
        }
      }
      return sum / Math.log(MANY / FEW);
    },
  };

  const DEEP = 1e6;
  live["C.Thm2-rate"] = {
    here: "Here: a pair of inputs for each draw, at an angle between 5 and 175 degrees, at depth 10⁵ and 10⁶.", kind: "mean",
    * one(seed) {
      const degrees = 5 + 170 * explore.below(explore.normal(seed)());
      yield;
      const [start, end] = explore.depth.along(degrees, [DEEP / 10, DEEP]);
      return ((end[1] - 0.25) * end[0] - (start[1] - 0.25) * start[0]) / Math.log(10);
    },
  };
  live["C.Thm2-limit"] = {
    here: "Here: a pair of inputs for each draw, at an angle between 5 and 175 degrees, at depth 10⁶.", kind: "mean",
    * one(seed) {
      const degrees = 5 + 170 * explore.below(explore.normal(seed)());
      yield;
      return Math.abs(explore.depth.along(degrees, [DEEP])[0][1] - 0.25);
    },
  };

  const POINTS = 64, INPUTS = 10, NARROW = 16, WIDE = 48, EACH = 144;
  live["B.Sec2-cover"] = {
    here: `Here: networks of one hidden layer of which the readout alone learns, ${EACH} sets of ${POINTS} random points and labels a draw.`, kind: "mean",
    * one(seed) {
      const normal = explore.normal(seed), row = () => Float64Array.from({ length: INPUTS }, normal), rows = (count) => Array.from({ length: count }, row);
      let sum = 0;
      for (let k = 0; k < EACH; k++) {
        const signed = explore.jam.hidden(rows(POINTS), rows(WIDE)).map((features) => { // labels are random
          const y = Math.sign(normal());
          return features.map((value) => y * value);
        });
        let [low, high] = [NARROW - 1, WIDE]; // the narrowest that fits: a wider one fits, too
        while (high - low > 1) {
          const N = (low + high) >> 1;
          if (explore.jam.fit(signed.map((one) => one.subarray(0, N))).left) low = N;
          else high = N;
          yield;
        }
        sum += high - 0.5;
      }
      return 2 * sum / EACH / POINTS;
    },
  };
})(globalThis.Explore = globalThis.Explore || {});
