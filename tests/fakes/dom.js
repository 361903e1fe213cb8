// As much of a browser as a page's own script asks for. `page` is the tree of its elements (tests/fakes/pages.py).
"use strict";

class Element {
  constructor(tag) {
    this.tag = tag;
    this.attributes = {};
    this.children = [];
    this.textContent = "";
    this.listeners = {};
    this.disabled = false;
  }

  setAttribute(name, value) {
    this.attributes[name] = String(value);
  }

  getAttribute(name) {
    return name in this.attributes ? this.attributes[name] : null;
  }

  append(child) {
    this.children.push(child);
  }

  replaceChildren() {
    this.children = [];
  }

  addEventListener(kind, listener) {
    this.listeners[kind] = listener;
  }

  fire(kind, event) {
    this.listeners[kind](event);
  }

  setPointerCapture() {}

  getBoundingClientRect() {
    return { left: 0, width: this.viewBox.baseVal.width };
  }

  get viewBox() {
    return { baseVal: { width: Number(this.attributes.viewbox.split(" ")[2]) } };
  }

  querySelectorAll(wanted) {
    const found = [];
    for (const child of this.children) {
      const is = wanted[0] === "." ? child.attributes.class === wanted.slice(1) : child.tag === wanted;
      if (is) found.push(child);
      found.push(...child.querySelectorAll(wanted));
    }
    return found;
  }

  querySelector(wanted) {
    return this.querySelectorAll(wanted)[0] || null;
  }
}

function grown(tree) {
  const made = new Element(tree.tag);
  made.attributes = tree.attributes;
  made.textContent = tree.text;
  made.children = tree.children.map(grown);
  return made;
}

if (!Array.prototype.flat) {
  Array.prototype.flat = function flat() {
    return [].concat(...this);
  };
  Array.prototype.flatMap = function flatMap(act) {
    return this.map(act).flat();
  };
}

var root = grown(page);
var document = {
  querySelectorAll: (wanted) => root.querySelectorAll(wanted),
  getElementById: (id) => root.querySelectorAll("script").find((one) => one.attributes.id === id),
  createElement: (tag) => new Element(tag),
  createElementNS: (namespace, tag) => new Element(tag),
};
