// Search for a tensor or an instruction by name, source or kind of operation.

const MOST_HITS = 12;

class Finder {
  constructor(map) {
    this.map = map;
    this.input = map.root.querySelector(".finder input");
    this.list = map.root.querySelector(".hits");
    this.hits = [];
    map.on(this.input, "input", () => this.search());
    map.on(this.input, "keydown", (e) => this.key(e));
    map.on(this.input, "focus", () => this.search());
    map.on(this.input, "blur", () => setTimeout(() => this.close(), 150));
    map.on(this.list, "pointerdown", (e) => {
      const item = e.target.closest("li[data-hit]");
      e.preventDefault();
      if (item) this.take(Number(item.dataset.hit));
    });
  }

  search() {
    const words = this.input.value.trim().toLowerCase().split(/\s+/).filter(Boolean),
      { plan } = this.map;
    this.hits = words.length ? [...matches(plan, words)] : [];
    this.at = 0;
    this.draw(words.length > 0);
  }

  draw(isAsked) {
    this.list.hidden = !isAsked;
    this.input.setAttribute("aria-expanded", String(isAsked));
    this.list.innerHTML = this.hits.length
      ? this.hits
          .map(
            (hit, i) =>
              `<li role="option" id="hit-${i}" data-hit="${i}" aria-selected="${i === this.at}"><b>${escapeText(hit.name)}</b> <small>${escapeText(hit.text)}</small></li>`,
          )
          .join("")
      : '<li role="option" aria-disabled="true">nothing of that name</li>';
    this.pointAt(isAsked && this.hits.length ? `hit-${this.at}` : "");
    keepInSight(this.list, this.list.querySelector('[aria-selected="true"]'));
  }

  key(event) {
    event.stopPropagation();
    if (event.key === "Escape") {
      this.input.value = "";
      this.close();
      this.map.root.focus({ preventScroll: true });
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.hits.length) {
      this.at = (this.at + step + this.hits.length) % this.hits.length;
      this.draw(true);
      event.preventDefault();
    }
    if (event.key === "Enter" && this.hits.length) this.take(this.at);
  }

  take(number) {
    const { map } = this,
      hit = this.hits[number];
    this.close();
    map.root.focus({ preventScroll: true });
    if (hit.group !== NONE) map.select(hit.group);
    if (hit.move !== NONE) map.go(hit.move);
  }

  // The option that Enter takes, as screen readers are told.
  pointAt(id) {
    if (id) this.input.setAttribute("aria-activedescendant", id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.pointAt("");
  }
}

// The hits: tensors, then instructions; of each, names that begin with the first word lead.
function* matches(plan, words) {
  let count = 0;
  const fits = (text) => words.every((word) => text.includes(word));
  const names = [
    ...plan.value_names.map((name, value) => ({
      name,
      value,
      text: `${name} ${plan.value_shapes[value]}`.toLowerCase(),
    })),
    ...plan.instruction_names.map((name, slot) => ({
      name,
      slot,
      text: `${name} ${plan.opcodes[plan.slot_opcode[slot]]} ${plan.op_names[slot]}`.toLowerCase(),
    })),
  ].filter(({ text }) => fits(text));
  const begins = ({ name }) => name.toLowerCase().startsWith(words[0]);
  for (const hit of [...names.filter(begins), ...names.filter((hit) => !begins(hit))]) {
    if (count++ >= MOST_HITS) return;
    yield hit.slot === undefined ? tensorHit(plan, hit.name, hit.value) : instructionHit(plan, hit.name, hit.slot);
  }
}

function tensorHit(plan, name, value) {
  const group = plan.value_group[value],
    move = plan.move_group.indexOf(group);
  return { name, group, move, text: `tensor ${plan.value_shapes[value]} ${sizeText(plan.group_bytes[group])}` };
}

function instructionHit(plan, name, slot) {
  return {
    name,
    group: NONE,
    move: plan.numMoves ? plan.moveAt(slot) : NONE,
    text: `slot ${slot} · ${plan.op_names[slot] || plan.opcodes[plan.slot_opcode[slot]]}`,
  };
}
