// The trees that are shown, as one picture.

SearchView.prototype.savePicture = function () {
  const { palette } = this.look,
    ratio = devicePixelRatio || 1,
    gap = 24,
    shown = this.panes.filter((p) => !p.element.hidden);
  const canvases = [
    ...shown.map((p) => [p.which.selectedOptions[0].text, p.icicle.canvas]),
    ["the line in fast memory", this.film.canvas],
  ];
  const sheet = document.createElement("canvas"),
    pen = sheet.getContext("2d");
  sheet.width = Math.max(...canvases.map(([, c]) => c.width));
  sheet.height = canvases.reduce((sum, [, c]) => sum + c.height + gap * ratio, 0);
  pen.fillStyle = palette.background;
  pen.fillRect(0, 0, sheet.width, sheet.height);
  let top = 0;
  for (const [title, canvas] of canvases) {
    pen.fillStyle = palette.text;
    pen.font = `600 ${13 * ratio}px ${palette.font}`;
    pen.fillText(`${this.game.program}, move ${this.board.move + 1}: ${title}`, 8 * ratio, top + 17 * ratio);
    pen.drawImage(canvas, 0, top + gap * ratio);
    top += canvas.height + gap * ratio;
  }
  saveAs(sheet.toDataURL("image/png"), `${this.game.program}-move-${this.board.move + 1}-search.png`);
};
