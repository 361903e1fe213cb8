"use strict";
// The curves of the page: axes, zoom by dragging or by the buttons, and the values under the pointer. Without it they
// stand still, with their ends written on them. Text is only ever set as text; nothing is fetched and nothing kept.
(() => {
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const plots = JSON.parse(document.getElementById("data").textContent).plots;

  function made(name, attributes, parent, text) {
    const element = document.createElementNS(NAMESPACE, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  // 12,345
  function grouped(number) {
    return Number.isInteger(number) ? String(number).replace(/\B(?=(\d{3})+$)/g, ",") : String(number);
  }

  function figure(value, percent) {
    if (value === null || value === undefined) return "–";
    if (percent) return `${(100 * value).toFixed(Math.abs(value) < 0.1 ? 2 : 1)} %`;
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2);
    return grouped(Number(value.toPrecision(size >= 1000 ? 7 : 4)));
  }

  // About `count` round numbers (1, 2 or 5 times a power of ten) between low and high.
  function ticks(low, high, count) {
    const rough = (high - low) / count;
    if (!(rough > 0) || !Number.isFinite(rough)) return [low];
    const unit = 10 ** Math.floor(Math.log10(rough));
    const step = unit * ([1, 2, 5, 10].find((nice) => unit * nice >= rough) || 10);
    const found = [];
    for (let number = Math.ceil(low / step); number * step <= high && found.length < 20; number += 1) {
      found.push(number * step);
    }
    return found;
  }

  // The first place in `points` at which the step is not below `step`.
  function place(points, step) {
    let low = 0;
    let high = points.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (points[middle][0] < step) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  class Plot {
    constructor(holder, told) {
      this.told = told;
      this.svg = holder.querySelector("svg");
      this.marks = this.svg.querySelector(".axes");
      this.inside = this.svg.querySelector(".lines");
      this.left = Number(this.inside.getAttribute("data-left"));
      this.top = Number(this.inside.getAttribute("data-top"));
      this.width = Number(this.inside.getAttribute("data-width"));
      this.height = Number(this.inside.getAttribute("data-height"));
      this.paths = [...this.inside.querySelectorAll("path")];
      this.series = told.lines.flatMap((line) => (line.smooth.length ? [line.points, line.smooth] : [line.points]));
      const steps = told.lines.flatMap((line) => [line.points[0][0], line.points[line.points.length - 1][0]]);
      this.all = [Math.min(...steps), Math.max(...steps)];
      if (this.all[0] === this.all[1]) this.all = [this.all[0] - 1, this.all[1] + 1];
      this.seen = this.all;
      this.at = made("line", { class: "at", y1: 0, y2: this.height, visibility: "hidden" }, this.inside);
      this.chosen = made("rect", { class: "chosen", y: 0, height: this.height, visibility: "hidden" }, this.inside);
      this.tools(holder.querySelector(".tools"));
      this.listen();
      this.draw();
    }

    tools(holder) {
      const button = (text, words, act) => {
        const one = document.createElement("button");
        one.type = "button";
        one.textContent = text;
        one.setAttribute("aria-label", `${words}: ${this.told.title}`);
        one.addEventListener("click", act);
        holder.append(one);
        return one;
      };
      button("+", "Zoom in", () => this.zoom(0.5));
      this.less = button("−", "Zoom out", () => this.zoom(2));
      this.back = button("‹", "Earlier steps", () => this.move(-0.5));
      this.on = button("›", "Later steps", () => this.move(0.5));
      this.whole = button("All", "All steps", () => this.show(...this.all));
      this.readout = document.createElement("output");
      holder.append(this.readout);
    }

    zoom(times) {
      const [low, high] = this.seen;
      const middle = (low + high) / 2;
      this.show(middle - ((high - low) * times) / 2, middle + ((high - low) * times) / 2);
    }

    move(share) {
      const [low, high] = this.seen;
      const by = Math.max(this.all[0] - low, Math.min(this.all[1] - high, (high - low) * share));
      this.show(low + by, high + by);
    }

    show(low, high) {
      const least = (this.all[1] - this.all[0]) / 1e5;
      if (high - low < least) return;
      this.seen = [Math.max(low, this.all[0]), Math.min(high, this.all[1])];
      this.draw();
    }

    step(event) {
      const box = this.svg.getBoundingClientRect();
      const across = ((event.clientX - box.left) * this.svg.viewBox.baseVal.width) / box.width - this.left;
      return this.seen[0] + (Math.max(0, Math.min(this.width, across)) / this.width) * (this.seen[1] - this.seen[0]);
    }

    listen() {
      let from = null;
      this.svg.addEventListener("pointerdown", (event) => {
        if (event.button !== 0 || event.pointerType === "touch") return;
        from = this.step(event);
        this.svg.setPointerCapture(event.pointerId);
      });
      this.svg.addEventListener("pointermove", (event) => {
        this.read(this.step(event));
        if (from === null) return;
        const ends = [this.x(from), this.x(this.step(event))].sort((a, b) => a - b);
        this.chosen.setAttribute("x", ends[0]);
        this.chosen.setAttribute("width", ends[1] - ends[0]);
        this.chosen.setAttribute("visibility", "visible");
      });
      this.svg.addEventListener("pointerup", (event) => {
        if (from === null) return;
        const ends = [from, this.step(event)].sort((a, b) => a - b);
        from = null;
        this.chosen.setAttribute("visibility", "hidden");
        if (this.x(ends[1]) - this.x(ends[0]) > 8) this.show(...ends);
      });
      this.svg.addEventListener("pointercancel", () => {
        from = null;
        this.chosen.setAttribute("visibility", "hidden");
      });
      this.svg.addEventListener("pointerleave", () => {
        this.at.setAttribute("visibility", "hidden");
        this.readout.textContent = "";
      });
      this.svg.addEventListener("dblclick", () => this.show(...this.all));
    }

    read(step) {
      const words = [];
      let near = step;
      for (const line of this.told.lines) {
        const after = place(line.points, step);
        const beside = [line.points[after - 1], line.points[after]].filter((point) => point !== undefined);
        beside.sort((a, b) => Math.abs(a[0] - step) - Math.abs(b[0] - step));
        if (!words.length) near = beside[0][0];
        words.push(`${line.name} ${figure(beside[0][1], this.told.percent)}`);
      }
      this.readout.textContent = `step ${grouped(Math.round(near))}: ${words.join(", ")}`;
      this.at.setAttribute("x1", this.x(near));
      this.at.setAttribute("x2", this.x(near));
      this.at.setAttribute("visibility", "visible");
    }

    x(step) {
      return (this.width * (step - this.seen[0])) / (this.seen[1] - this.seen[0]);
    }

    draw() {
      const shown = this.series.map((points) => {
        const end = place(points, this.seen[1]);
        return points.slice(Math.max(0, place(points, this.seen[0]) - 1), Math.min(points.length, end + 2));
      });
      const values = shown.flat().map((point) => point[1]).filter((value) => value !== null).sort((a, b) => a - b);
      let low = values.length ? values[0] : 0;
      let high = values.length ? values[values.length - 1] : 1;
      const whole = this.seen[0] === this.all[0] && this.seen[1] === this.all[1];
      if (whole && values.length > 200) high = values[Math.min(values.length - 1, Math.ceil(0.995 * values.length))];
      const room = high > low ? (high - low) * 0.05 : Math.abs(low) * 0.1 || 1;
      low -= room;
      high += room;
      const y = (value) => this.height - (this.height * (Math.max(low, Math.min(high, value)) - low)) / (high - low);
      shown.forEach((points, number) => {
        let path = "";
        let next = "M";
        for (const [step, value] of points) {
          if (value === null) {
            next = "M";
            continue;
          }
          const to = `${this.x(step).toFixed(1)} ${y(value).toFixed(1)}`;
          path += next + to;
          next = "L";
        }
        this.paths[number].setAttribute("d", path);
      });
      this.axes(low, high, y);
      this.less.disabled = this.whole.disabled = whole;
      this.back.disabled = this.seen[0] <= this.all[0];
      this.on.disabled = this.seen[1] >= this.all[1];
    }

    axes(low, high, y) {
      this.marks.replaceChildren();
      for (const value of ticks(low, high, 5)) {
        const at = this.top + y(value);
        made("line", { class: "grid", x1: this.left, x2: this.left + this.width, y1: at, y2: at }, this.marks);
        const text = figure(value, this.told.percent);
        made("text", { x: this.left - 8, y: at + 4, "text-anchor": "end" }, this.marks, text);
      }
      const under = this.top + this.height + 20;
      for (const step of ticks(...this.seen, 5)) {
        const at = this.left + this.x(step);
        if (at > this.left + this.width * 0.86) continue;
        made("text", { x: at, y: under, "text-anchor": "middle" }, this.marks, figure(step, false));
      }
      made("text", { x: this.left + this.width, y: under, "text-anchor": "end" }, this.marks, "steps");
    }
  }

  document.querySelectorAll("figure").forEach((holder, number) => new Plot(holder, plots[number]));
})();
