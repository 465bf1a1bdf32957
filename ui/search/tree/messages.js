// The messages of Python: a game once, then positions with their searches (ui/model/search/messages.py).

const NONE = -1;
const LEGAL = 1,
  ILLEGAL = 2;

class Game {
  constructor(bytes) {
    const [header, columns] = unpack(bytes);
    Object.assign(this, header, columns);
    this.numMoves = this.move_time.length;
    this.numSlots = this.slot_reserved.length;
    this.final = this.so_far[this.numMoves];
    this.surprising = [...this.surprise.keys()]
      .filter((m) => this.surprise[m] > 0)
      .sort((a, b) => this.surprise[b] - this.surprise[a] || a - b)
      .slice(0, MOST_SURPRISES);
  }

  // The mark of a bad move; empty for other moves, and where it is not known how bad one was.
  mark(move) {
    return MARKS[this.move_class[move]] ?? "";
  }

  instruction(slot) {
    return slot < this.numSlots ? this.instruction_names[slot] : "end of the program";
  }
  tensor(move) {
    return this.group_names[this.move_group[move]];
  }

  verb(move) {
    const flags = this.move_flags[move];
    return flags & SINK ? "needs in slow memory" : flags & READS ? (flags & WRITES ? "updates" : "reads") : "writes";
  }

  sentence(move) {
    if (move >= this.numMoves) return "the game is over";
    return `${this.instruction(this.move_time[move])} ${this.verb(move)} ${this.tensor(move)}`;
  }
}

const MOST_SURPRISES = 20;

// Marks by the class of a move, as in engine/debugging/regret.py; 0 is no class.
const MARKS = ["", "??", "?", "?!"];
const MARK_TONES = ["gray", "red", "orange", "yellow"];

// One position: its number, the trees of its searches, what stands in fast memory.
class Board {
  constructor(bytes, game) {
    const [header, columns] = unpack(bytes);
    Object.assign(this, header);
    this.standing = [];
    for (let i = 0; i < columns.standing.length; i += 5) {
      const [group, offset, start, end, isLive] = columns.standing.subarray(i, i + 5);
      this.standing.push({ group, offset, start, end, isLive, size: game.group_granules[group] });
    }
    this.trees = this.roots.map((root, number) => {
      const own = {};
      for (const [name, column] of Object.entries(columns)) {
        if (name.startsWith(`t${number}_`)) own[name.slice(`t${number}_`.length)] = column;
      }
      return new Tree(root, own, this.move, game.numMoves, game.move_action);
    });
  }
}
