// The moves as a film: played at a speed, or as a tour with a caption for each.

// A film with a caption per move, for who has not played yet: it starts by itself, unless the
// visitor prefers less motion, and only looks.
MapView.prototype.beginTour = function (tour) {
  this.tour = tour;
  this.root.classList.add("tour");
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) this.play();
  this.describe();
};

MapView.prototype.play = function () {
  if (!this.plan.numMoves) return;
  if (this.film) return this.stop();
  if (this.state.move >= this.plan.lastMove) this.go(0);
  const from = this.state.move,
    begin = performance.now();
  const pace = this.tour ? this.plan.numMoves / this.tour.seconds : Number(this.root.querySelector(".speed").value);
  this.offer("Pause", "❚❚");
  const step = (now) => {
    this.moveTo(from + Math.floor(((now - begin) / 1000) * pace));
    if (this.state.move >= this.plan.lastMove) return this.stop();
    this.film = requestAnimationFrame(step);
  };
  this.film = requestAnimationFrame(step);
};

MapView.prototype.stop = function () {
  cancelAnimationFrame(this.film);
  this.film = null;
  this.offer("Play the moves", "▷");
  this.commit();
};

// What the button of the film does when it is pressed next.
MapView.prototype.offer = function (name, sign) {
  const button = this.root.querySelector('[data-go="play"]');
  button.textContent = sign;
  button.title = `${name} (Space)`;
  button.setAttribute("aria-label", name);
};

MapView.prototype.changeSpeed = function (step) {
  const list = this.root.querySelector(".speed"),
    isPlaying = Boolean(this.film);
  list.selectedIndex = Math.max(0, Math.min(list.options.length - 1, list.selectedIndex + step));
  if (isPlaying) {
    this.stop();
    this.play();
  }
};
