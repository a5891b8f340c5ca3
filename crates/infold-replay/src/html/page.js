"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const chart = document.getElementById("chart");
  const pick = document.getElementById("pick");
  const hidden = new Set();
  let session = 0;
  let point = null;

  const short = (n) =>
    n >= 1e6 ? (n / 1e6).toFixed(1) + "M" : n >= 1e3 ? (n / 1e3).toFixed(n >= 1e4 ? 0 : 1) + "k" : String(n);
  const node = (name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };

  // A round step that gives about so many ticks up to a maximum.
  const tickStep = (max, count) => {
    const raw = Math.max(max / count, 1);
    const power = 10 ** Math.floor(Math.log10(raw));
    return [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= raw);
  };

  const shape = () => {
    const { requests, tokens } = data.sessions[session];
    const width = chart.clientWidth, height = chart.clientHeight;
    const left = 48, right = 12, top = 10, bottom = 30;
    const shown = tokens.map((_, at) => at).filter((at) => !hidden.has(at));
    const max = Math.max(1, ...shown.map((at) => Math.max(...tokens[at])));
    const last = requests[requests.length - 1];
    const first = requests[0];
    const x = (n) => left + (last > first ? (n - first) / (last - first) : 0.5) * (width - left - right);
    const y = (n) => height - bottom - (n / (max * 1.04)) * (height - top - bottom);
    return { requests, tokens, width, height, left, right, bottom, shown, max, first, last, x, y };
  };

  const axes = (svg, s) => {
    const stepY = tickStep(s.max, 5);
    for (let n = 0; n <= s.max * 1.04; n += stepY) {
      svg.append(node("line", { class: "rule", x1: s.left, x2: s.width - s.right, y1: s.y(n), y2: s.y(n) }));
      svg.append(node("text", { x: s.left - 8, y: s.y(n) + 4, "text-anchor": "end" }, short(n)));
    }
    const stepX = Math.max(1, Math.round(tickStep(s.last - s.first, Math.max(2, s.width / 130))));
    for (let n = Math.ceil(s.first / stepX) * stepX; n <= s.last; n += stepX) {
      svg.append(node("text", { x: s.x(n), y: s.height - s.bottom + 18, "text-anchor": "middle" }, n));
    }
  };

  const draw = () => {
    const s = shape();
    const svg = node("svg", { "aria-hidden": "true" });
    axes(svg, s);
    // Ours last, so that it lies on top.
    const order = [...s.shown].sort((a, b) => (a === data.ours) - (b === data.ours));
    for (const at of order) {
      const path = s.requests.map((n, i) => (i ? "L" : "M") + s.x(n).toFixed(1) + " " + s.y(s.tokens[at][i]).toFixed(1));
      svg.append(node("path", { class: data.policies[at].key + (at === data.ours ? " ours" : ""), d: path.join("") }));
    }
    const old = document.getElementById("tip");
    if (old) old.remove();
    if (point !== null) mark(svg, s, Math.min(point, s.requests.length - 1));
    chart.querySelectorAll("svg").forEach((drawn) => drawn.remove());
    chart.prepend(svg);
  };

  const mark = (svg, s, i) => {
    const at = s.x(s.requests[i]);
    svg.append(node("line", { class: "cross", x1: at, x2: at, y1: 10, y2: s.height - s.bottom }));
    const tip = document.createElement("div");
    tip.id = "tip";
    tip.setAttribute("role", "status");
    const title = document.createElement("b");
    title.textContent = "request " + s.requests[i];
    tip.append(title);
    for (const policy of [...s.shown].sort((a, b) => s.tokens[b][i] - s.tokens[a][i])) {
      const key = data.policies[policy].key;
      svg.append(node("circle", { class: key, cx: at, cy: s.y(s.tokens[policy][i]), r: policy === data.ours ? 5 : 3.5 }));
      const row = document.createElement("div");
      row.className = key;
      const name = document.createElement("span"), value = document.createElement("span");
      name.textContent = data.policies[policy].label;
      value.textContent = short(s.tokens[policy][i]);
      row.append(name, value);
      tip.append(row);
    }
    chart.append(tip);
    tip.style.left = Math.max(0, at > s.width / 2 ? at - tip.offsetWidth - 14 : at + 14) + "px";
  };

  const follow = (event) => {
    const s = shape();
    const x = event.clientX - chart.getBoundingClientRect().left;
    let best = 0;
    s.requests.forEach((n, i) => {
      if (Math.abs(s.x(n) - x) < Math.abs(s.x(s.requests[best]) - x)) best = i;
    });
    if (best !== point) {
      point = best;
      draw();
    }
  };

  const choose = (index) => {
    session = index;
    point = null;
    pick.value = String(index);
    draw();
  };

  if (chart && data.sessions.length) {
    chart.addEventListener("pointermove", follow);
    chart.addEventListener("pointerdown", follow);
    chart.addEventListener("pointerleave", () => { point = null; draw(); });
    chart.addEventListener("blur", () => { point = null; draw(); });
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const end = data.sessions[session].requests.length - 1;
      point = Math.min(end, Math.max(0, (point === null ? (step > 0 ? -1 : end + 1) : point) + step));
      draw();
    });
    pick.addEventListener("change", () => choose(Number(pick.value)));
    document.querySelectorAll(".legend button").forEach((button) => {
      button.addEventListener("click", () => {
        const at = Number(button.dataset.policy);
        if (!hidden.delete(at)) hidden.add(at);
        button.setAttribute("aria-pressed", String(!hidden.has(at)));
        draw();
      });
    });
    document.querySelectorAll("button[data-session]").forEach((button) => {
      button.addEventListener("click", () => {
        choose(Number(button.dataset.session));
        const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
        document.getElementById("over-time").scrollIntoView({ behavior: still ? "auto" : "smooth" });
        chart.focus({ preventScroll: true });
      });
    });
    new ResizeObserver(draw).observe(chart);
    draw();
  }

  document.querySelectorAll("table.sortable").forEach((table) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = head.querySelector("button");
      if (!button) return;
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") !== "descending";
        heads.forEach((other) => other.hasAttribute("aria-sort") && other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
        const order = (a, b) => {
          const [one, other] = [key(a), key(b)];
          const numbers = one !== "" && other !== "" && !isNaN(one) && !isNaN(other);
          return numbers ? one - other : one.localeCompare(other);
        };
        const rows = [...table.tBodies[0].rows].sort((a, b) => (down ? order(b, a) : order(a, b)));
        table.tBodies[0].append(...rows);
      });
    });
  });
})();
