// Chapter 5: two unit inputs in an infinitely wide ReLU network of L layers. Their angle φ_L and kernel S_L = L Θ̄ layer by layer
// (paper C, Prop. 5), and the ridge of depth L beside the kernel of offsets. What computes comes first, as in regimes.kernels.
(function (explore) {
  "use strict";
  const DEEPEST = 5, STEPS = 24, SMALL = 0.3; // decades of depth, points in each; below this angle sin φ − φ cos φ is a series

  function lost(phi) {
    if (phi >= SMALL) return Math.sin(phi) - phi * Math.cos(phi);
    let sum = 0, term = phi ** 3 / 3;
    for (let k = 1; k < 7; k++) {
      sum += term;
      term *= -(phi ** 2) * (k + 1) / (k * (2 * k + 2) * (2 * k + 3));
    }
    return sum;
  }

  // [L, Θ̄, φ_L in degrees] at increasing depths; e = 1 − cos φ, in which nothing cancels
  function along(degrees, depths) {
    let phi = degrees * Math.PI / 180, e = 2 * Math.sin(phi / 2) ** 2, s = Math.cos(phi), layer = 1;
    return depths.map((depth) => {
      for (; layer < depth; layer++) {
        e = Math.max(0, e - lost(phi) / Math.PI);
        s = (1 - phi / Math.PI) * s + 1 - e;
        phi = 2 * Math.asin(Math.sqrt(e / 2));
      }
      return [depth, s / depth, phi * 180 / Math.PI];
    });
  }

  // 4 (1 − a) L with a = 1/4 + (3/8 ln L − 1/8)/L
  const ridge = (depth) => 3 * depth - 1.5 * Math.log(depth) + 0.5;
  explore.depth = { along, ridge };

  const DEPTHS = [...new Set(Array.from({ length: DEEPEST * STEPS + 1 }, (_, i) => Math.round(10 ** (i / STEPS))))];
  const POWERS = ["1", "", "10²", "", "10⁴", ""].map((words, k) => [10 ** k, words]);
  let shown = 0, curve = [], angle = null; // the decade that is drawn follows the slider

  function start({ degrees, decade }) {
    if (angle !== degrees) [curve, angle] = [along(degrees, DEPTHS), degrees];
    const wanted = 10 ** decade;

    function advance(_, still) {
      shown += Math.sign(decade - shown) * Math.min(Math.abs(decade - shown), still ? DEEPEST : 0.05 + 0.1 * Math.abs(decade - shown));
      return shown !== decade;
    }

    function at(depth) {
      return curve.reduce((best, one) => (Math.abs(Math.log(one[0] / depth)) < Math.abs(Math.log(best[0] / depth)) ? one : best));
    }

    function draw([circle, kernel, share]) {
      const now = at(10 ** shown), middle = circle.width / 2, size = 0.86 * middle;
      const rim = Array.from({ length: 91 }, (_, i) => [middle + size * Math.cos(i * Math.PI / 45), middle - size * Math.sin(i * Math.PI / 45)]);
      circle.line(rim, circle.faint);
      const arrow = (turn, colour, dash) => {
        const end = [middle + size * Math.sin(turn * Math.PI / 180), middle - size * Math.cos(turn * Math.PI / 180)];
        circle.line([[middle, middle], end], colour, dash);
        circle.dot(...end, 5, colour);
      };
      [-0.5, 0.5].forEach((side) => arrow(side * degrees, circle.faint, [4, 4]));
      arrow(-now[2] / 2, circle.plus);
      arrow(now[2] / 2, circle.minus);
      circle.say(`${explore.number(now[2])}°`, middle, 1.65 * middle, "center");

      const layers = { from: 1, to: 10 ** DEEPEST, log: true, ticks: POWERS, label: "layers L" };
      const axes = explore.plot(kernel, layers, { from: -1, to: 1, ticks: [[-1, "−1"], [0, "0"], [0.25, "¼"], [1, "1"]] });
      axes.line([[1, 0.25], [10 ** DEEPEST, 0.25]], kernel.faint, [6, 4]);
      axes.line(curve.map(([depth, value]) => [depth, value]), kernel.green);
      axes.dot(now[0], now[1], 5, kernel.green);

      const values = { ...layers, label: "eigenvalue" }, strength = ridge(now[0]);
      const part = explore.plot(share, values, { from: 0, to: 1, ticks: [[0, "0"], [0.5, "½"], [1, "1"]] });
      part.line(DEPTHS.map((x) => [x, x / (x + strength)]), share.pink);
      part.line([[strength, 0], [strength, 0.5]], share.faint, [4, 4]);
      part.dot(strength, 0.5, 5, share.pink);
    }

    function said() {
      const [depth, value, phi] = at(wanted), strength = ridge(depth);
      return `After ${depth} layers the angle of ${degrees}° is ${explore.number(phi)}°, and the kernel of the two inputs ${explore.number(value)} `
        + `of what it is for equal ones; its limit is 1/4. ` + (depth >= 30
        ? `A network so deep learns half of what lies along an eigenvector with the eigenvalue ${Math.round(strength)}, its ridge, near 3L.`
        : `From about 30 layers on its predictor is ridge regression.`);
    }
    return { advance, draw, said };
  }

  explore.add("depth", {
    knobs: {
      decade: { label: "layers L", min: 0, max: DEEPEST, step: 0.25, value: 1.5, says: (v) => String(Math.round(10 ** v)) },
      degrees: { label: "angle of the inputs", min: 5, max: 180, step: 5, value: 180, says: (v) => `${v}°` },
    },
    panels: [
      { title: "two inputs after L layers (dashed: before)", alt: "Two arrows on a circle, at the angle after L layers." },
      { title: "their kernel, over that of equal inputs", alt: "The kernel against the layers, which ends at a quarter." },
      { title: "learnt share of an eigenvector, by its eigenvalue", alt: "The learnt share, one half at the ridge.", wide: 0.74 },
    ],
    start,
  });
})(globalThis.Explore = globalThis.Explore || {});
