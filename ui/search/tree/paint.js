// Colours of a tree: better is blue, worse is orange, so that nobody has to tell red from green.

const TONES = ["blue", "green", "red"];

// Actions at the other end have the tone of their kind, paler on the canvas and hatched in a bar.
function isOtherEnd(action) {
  return ACTION_KINDS[action] !== action;
}
function toneOf(action) {
  return TONES[ACTION_KINDS[action]];
}
function inkOf(palette, action) {
  const ink = palette[toneOf(action)];
  return isOtherEnd(action) ? mix(ink, 0.45) : ink;
}
function barOf(action) {
  const ink = `var(--st-${toneOf(action)}-color)`;
  return isOtherEnd(action) ? `repeating-linear-gradient(135deg,${ink} 0 3px,transparent 3px 6px)` : ink;
}

// An action's short name in its tone; its whole name on hover.
function actionHtml(action) {
  return `<b class="ink ${toneOf(action)}" title="${ACTIONS[action]}">${shortAction(action)}</b>`;
}
const COLOURS = { worth: "what it is worth", reward: "reward", prior: "prior", rules: "imagined − real" };

function fitCanvas(canvas) {
  const ratio = devicePixelRatio || 1,
    { clientWidth: width, clientHeight: height } = canvas;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return [pen, width, height];
}

// `share` from -1 (worst) to 1 (best).
function diverging(palette, share) {
  const bounded = Math.max(-1, Math.min(1, share));
  return mix(bounded < 0 ? palette.orange : palette.blue, 0.1 + 0.65 * Math.abs(bounded));
}

// Per colouring: the fill of a node, and the scale's ends in words.
const PAINTS = {
  worth: (tree) => ({
    fill: (node, grown, palette) => diverging(palette, grown.lead(node) / tree.spread),
    ends: [signedTime(-tree.spread * tree.point_s), "as the root", signedTime(tree.spread * tree.point_s)],
  }),
  reward: (tree) => {
    const most = Math.max(1e-9, ...tree.reward.map(Math.abs));
    return {
      fill: (node, _grown, palette) => diverging(palette, tree.reward[node] / most),
      ends: [signedTime(-most * tree.point_s), "par", signedTime(most * tree.point_s)],
    };
  },
  prior: (tree) => ({
    fill: (node, _grown, palette) => mix(palette.violet, 0.06 + 0.7 * (node ? tree.prior[node] : 1)),
    ends: ["0 %", "prior", "100 %"],
    isRising: true,
  }),
  rules: (tree) => {
    const errors = [...tree.reward.keys()].map((i) => Math.abs(tree.error(i) ?? 0));
    const most = Math.max(1e-12, ...errors);
    return {
      fill: (node, _grown, palette) => {
        const error = tree.error(node);
        return error === null ? mix(palette.gray, 0.14) : diverging(palette, error / most);
      },
      ends: [signedTime(-most), "as it is", signedTime(most)],
      hasUnknown: true,
    };
  },
};

function scaleHtml(paint, palette) {
  const stops = paint.isRising
    ? [mix(palette.violet, 0.06), mix(palette.violet, 0.76)]
    : [-1, -0.5, 0, 0.5, 1].map((share) => diverging(palette, share));
  const [low, middle, high] = paint.ends;
  const illegal = '<span class="pair"><i class="key illegal"></i> ✗ illegal in the real game</span>';
  const unknown = paint.hasUnknown ? '<span class="pair"><i class="key unknown"></i> not played out</span>' : "";
  return `<span>${low}</span><i class="ramp" style="background:linear-gradient(90deg,${stops.join(",")})" title="${middle} in the middle"></i>
    <span>${high}</span><small>${middle} in the middle · width: visits · pale: one visit</small>${illegal}${unknown}`;
}

function timeOrNone(seconds) {
  return seconds === null ? "–" : signedTime(seconds);
}
