// What the explorables share: sliders, panels, the loop that computes and draws, and what a page says of it. An explorable is
// `Explore.add(name, {knobs, panels, start})`; `start(values)` gives {advance, draw, said}: see CONTRIBUTING, "An explorable".
(function (explore) {
  "use strict";

  // standard normal numbers from a seed (mulberry32, Box and Muller)
  explore.normal = function (seed) {
    let s = seed >>> 0;
    function uniform() {
      s = (s + 0x6D2B79F5) | 0;
      let t = Math.imul(s ^ (s >>> 15), 1 | s);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    }
    return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  };

  // the share of standard normal points (1/2)(1 + erf(z/√2)), to 1e-7; Source: Abramowitz and Stegun 7.1.26
  explore.below = function (z) {
    const u = Math.abs(z) * Math.SQRT1_2, s = 1 / (1 + 0.3275911 * u);
    const tail = s * (0.254829592 + s * (-0.284496736 + s * (1.421413741 + s * (-1.453152027 + s * 1.061405429)))) * Math.exp(-u * u) / 2;
    return z > 0 ? 1 - tail : tail;
  };

  // two digits, as the book writes numbers
  explore.number = (value) => (Math.abs(value) >= 99.5 ? String(Math.round(value)) : value.toPrecision(2).replace(/e\+?/, " · 10^"));
  explore.power = (exponent) => "10" + [...String(exponent)].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)] || "·").join("");

  // on a server without a page, as in tests, what computes is all there is
  if (typeof document === "undefined") {
    explore.add = () => {};
    return;
  }
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
    made.append(...children);
    return made;
  }

  let paper = false; // while the page is printed

  function colours() {
    const dark = document.documentElement.dataset.theme === "dark" && !paper;
    return dark
      ? { ink: "#d8dde3", faint: "#7f8994", plus: "#56b4e9", minus: "#f0ab3d", green: "#3fcf9f", pink: "#dd9bd2" }
      : { ink: "#1b1f24", faint: "#8a939c", plus: "#0173b2", minus: "#de8f05", green: "#02815f", pink: "#b2559f" };
  }

  // a panel to draw in, in pixels of the page whatever the screen's; `wide`: its height over its width
  function panel(about) {
    const canvas = element("canvas", { role: "img", "aria-label": about.alt });
    const box = element("div", { class: about.wide ? "wide" : "" }, element("span", { class: "title" }, about.title), canvas);
    function fresh() {
      const width = canvas.clientWidth, height = Math.round(width * (about.wide || 1)), scale = window.devicePixelRatio || 1;
      const c = canvas.getContext("2d"), hues = colours();
      [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
      canvas.style.height = height + "px";
      c.setTransform(scale, 0, 0, scale, 0, 0);
      c.font = "13px system-ui, sans-serif";
      function line(points, colour, dash = []) {
        c.beginPath();
        points.forEach(([u, v], i) => (i ? c.lineTo(u, v) : c.moveTo(u, v)));
        [c.strokeStyle, c.lineWidth] = [colour, 1.8];
        c.setLineDash(dash);
        c.stroke();
      }
      function dot(u, v, size, colour) {
        c.beginPath();
        c.arc(u, v, size, 0, 7);
        c.fillStyle = colour;
        c.fill();
      }
      // a square of values, row by row from below: their sign as colour, their size as strength
      function signs(values) {
        const side = values.length, edge = (i) => Math.round(width * i / side);
        values.forEach((row, j) => row.forEach((value, i) => {
          c.globalAlpha = 0.12 + 0.38 * Math.min(1, Math.abs(value));
          c.fillStyle = value > 0 ? hues.plus : hues.minus;
          c.fillRect(edge(i), edge(side - 1 - j), edge(i + 1) - edge(i), edge(side - j) - edge(side - 1 - j));
        }));
        c.globalAlpha = 1;
      }
      function say(words, u, v, align = "left", colour = hues.ink) {
        [c.fillStyle, c.textAlign] = [colour, align];
        c.fillText(words, u, v);
      }
      return { c, width, height, line, dot, say, signs, ...hues };
    }
    return { box, fresh };
  }

  Object.assign(explore, { element, panel, still });

  // axes from and to a value, logarithmic ones with `log`, with ticks [value, words]; lines and dots by values
  explore.plot = function (view, x, y) {
    const { c, width, height, ink, faint } = view, left = 44, right = width - 6, top = 6, low = height - 36;
    const share = (axis, value) => (axis.log ? Math.log(value / axis.from) / Math.log(axis.to / axis.from) : (value - axis.from) / (axis.to - axis.from));
    const X = (value) => left + (right - left) * share(x, value), Y = (value) => low - (low - top) * share(y, value);
    x.ticks.forEach(([value, words]) => view.say(words, Math.min(X(value), right - 8), low + 16, "center"));
    y.ticks.forEach(([value, words]) => view.say(words, left - 5, Y(value) + 4, "right"));
    view.say(x.label, Math.min((left + right) / 2, width - c.measureText(x.label).width / 2), height - 4, "center");
    view.line([[left, top], [right, top], [right, low], [left, low], [left, top]], faint);
    const places = (points) => points.map(([u, v]) => [X(u), Math.max(top, Math.min(low, Y(v)))]);
    return {
      line: (points, colour, dash) => view.line(places(points), colour, dash),
      dot: (u, v, size, colour) => view.dot(...places([[u, v]])[0], size, colour),
      say: (words, u, v, colour, align = "left") => view.say(words, X(u), Y(v), align, colour),
    };
  };

  function open(root, about) {
    const own = "explore-" + root.dataset.name;
    if (!root.id && !document.getElementById(own)) root.id = own; // for the address
    const values = {}, knobs = element("div", { class: "knobs" }), said = element("p", { class: "said", "aria-live": "polite" });
    const panels = about.panels.map(panel);
    let run = null, asked = 0, timer = 0, seen = false;

    // the address holds the knobs: `#explore-stripe?alpha=3&seed=2`
    const given = explore.judge?.asked(location.hash, root.id), kept = new URLSearchParams(given || "");
    const address = () => root.id && explore.keep?.(root, new URLSearchParams(values));
    if (given) setTimeout(() => root.scrollIntoView(), 0);

    Object.entries(about.knobs).forEach(([name, knob]) => {
      const asked = parseFloat(kept.get(name));
      values[name] = asked >= knob.min && asked <= knob.max ? asked : knob.value;
      const input = element("input", { type: "range", min: knob.min, max: knob.max, step: knob.step || 1, value: values[name] });
      const shown = element("output", {});
      values[name] = +input.value; // on a step
      function tell() {
        shown.textContent = knob.says(values[name]);
        input.setAttribute("aria-valuetext", shown.textContent);
      }
      input.addEventListener("input", () => {
        values[name] = +input.value;
        tell();
        again();
      });
      input.addEventListener("change", address); // a browser stops a page that writes one at each move
      tell();
      knobs.append(element("label", {}, element("span", {}, knob.label), input, shown));
    });
    (about.buttons || []).forEach(([words, change]) => {
      const button = element("button", { type: "button" }, words);
      button.addEventListener("click", () => {
        change(values);
        address();
        again();
      });
      knobs.append(button);
    });
    if (given) address();
    const live = element("div", { class: "live" }, knobs, element("div", { class: "panels" }, ...panels.map((one) => one.box)), said);
    if (explore.share) live.append(explore.share(root));
    root.prepend(live);
    root.classList.add("is-live", "waits"); // until the first drawing the still stands there

    function draw() {
      if (!run) return;
      run.draw(panels.map((one) => one.fresh()));
      root.classList.remove("waits");
    }

    function again() {
      asked += 1;
      said.textContent = "…";
      clearTimeout(timer);
      run = about.start({ ...values });
      const own = asked, began = performance.now();
      let spent = 0;
      (function turn() {
        if (own !== asked) return;
        const start = performance.now(), more = run.advance(still.matches ? 40 : 14, still.matches);
        spent += performance.now() - start;
        if (!still.matches || !more) draw();
        if (more) {
          timer = setTimeout(() => requestAnimationFrame(turn), 8);
        } else {
          root.dataset.milliseconds = spent.toFixed(0);
          root.dataset.wall = (performance.now() - began).toFixed(0);
          said.textContent = run.said(spent); // once, at the end: spoken words do not follow each frame
        }
      })();
    }

    // it begins when it is seen; the page's colours and width may change
    new IntersectionObserver((entries) => {
      if (seen || !entries.some((one) => one.isIntersecting)) return;
      seen = true;
      again();
    }, { threshold: 0.2 }).observe(live);
    new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    window.addEventListener("resize", draw);

    // paper has what stands here when it is printed, if there is no still
    if (root.querySelector(".still")) return;
    window.addEventListener("beforeprint", () => {
      paper = true;
      if (!run) run = about.start({ ...values });
      while (run.advance(40, true));
      draw();
    });
    window.addEventListener("afterprint", () => {
      paper = false;
      draw();
    });
  }

  explore.add = function (name, about) {
    document.querySelectorAll(`.explore[data-name="${name}"]`).forEach((root) => open(root, about));
  };
})(globalThis.Explore = globalThis.Explore || {});
