"use strict";
// One patient in niivue: unpacks it, shows scan and overlays, and brings the planes to lesions.
{ // names of its own, beside those of page.js
const settings = JSON.parse(document.getElementById("patient").textContent);
const place = document.getElementById("place");
const OPACITY = { mask: 0.5, map: 0.8 }, LINE = 0.6; // mm

async function niivue() {
  const bytes = Uint8Array.from(atob(document.getElementById("niivue").textContent), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script); // runs at once, if it is the version that the policy of the page names
  return globalThis.niivue;
}

// The colours of a volume. A colour of an overlay is there or not, whatever its alpha: 0 and low uncertainty are not.
const palette = ({ colors, mask }, ground) => {
  const last = colors.length - 1, part = (name) => colors.map((color) => color[name]);
  const least = ground ? 0 : mask ? 1 : Math.ceil(settings.clear * last);
  return { R: part(0), G: part(1), B: part(2), A: colors.map((_, step) => (step < least ? 0 : 255)), I: colors.map((_, step) => Math.round((255 * step) / last)) };
};

const side = (value, names) => `${Math.abs(value).toFixed(1)} mm ${names[value < 0 ? 1 : 0]}`;

function tell({ vox, values }) {
  const voxel = [...vox].slice(0, 3).map((each, axis) => Math.round(each) + settings.first[axis]);
  const mm = settings.affine.slice(0, 3).map((row) => row[0] * voxel[0] + row[1] * voxel[1] + row[2] * voxel[2] + row[3]);
  const where = [["right", "left"], ["front", "back"], ["up", "down"]].map((names, axis) => side(mm[axis], names)).join(", ");
  const found = settings.volumes.map(({ title, mask }, number) => {
    const value = values[number]?.value ?? 0;
    return `${title}: ${mask ? (value > 0.5 ? "yes" : "no") : Number(value.toPrecision(3))}`;
  });
  place.textContent = `Voxel ${voxel.map((each) => each + 1).join(",")} · ${where} of the scanner's origin · ${found.join(" · ")}`;
}

const maps = []; // the checkboxes of maps: one is shown at a time, since their colours would mix

function overlay(viewer, volume, number) {
  const line = document.createElement("div"), label = document.createElement("label");
  const box = document.createElement("input"), swatch = document.createElement("i"), slider = document.createElement("input");
  const colors = volume.colors.map((color) => `rgb(${color})`);
  line.className = "overlay";
  box.type = "checkbox";
  box.checked = volume.mask;
  slider.type = "range";
  [slider.min, slider.max, slider.step] = [0, 1, 0.05];
  slider.value = volume.mask ? OPACITY.mask : OPACITY.map;
  slider.ariaLabel = `Opacity of: ${volume.title}`;
  const upper = colors.slice(Math.ceil(settings.clear * (colors.length - 1)));
  swatch.style.background = volume.mask ? colors[0] : `linear-gradient(to right, ${upper.join(", ")})`;
  const draw = () => viewer.setOpacity(number, box.checked ? Number(slider.value) : 0);
  const alone = () => { if (box.checked && !volume.mask) for (const other of maps) if (other !== box && other.checked) other.click(); };
  if (!volume.mask) maps.push(box);
  box.addEventListener("change", () => { alone(); draw(); });
  slider.addEventListener("input", () => { box.checked = true; alone(); draw(); });
  label.append(box, volume.mask ? swatch : "", volume.title);
  line.append(label, document.createElement("span"), slider);
  if (!volume.mask) {
    const range = document.createElement("div");
    range.className = "range";
    range.append(...[settings.clear * volume.most, volume.most].map((value) => Number(value.toPrecision(2)).toString()));
    range.insertBefore(swatch, range.lastChild);
    line.append(range);
  }
  document.getElementById("overlays").append(line);
  draw();
}

// Both masks mix; what that looks like stands below them.
function both() {
  const masks = settings.volumes.filter(({ mask }) => mask);
  if (masks.length < 2) return;
  const line = document.createElement("div"), label = document.createElement("label"), swatch = document.createElement("i");
  swatch.style.background = `color-mix(in srgb, ${masks.map(({ colors }) => `rgb(${colors[0]})`).join(" 33%, ")})`;
  line.className = "overlay both";
  label.append(swatch, "where both are");
  line.append(label);
  document.getElementById("overlays").append(line);
}

// Around the place where the planes meet, which stays where it is; the lines through it do not grow.
function zoom(viewer) {
  const times = Number(document.getElementById("zoom").value), mm = viewer.frac2mm(viewer.scene.crosshairPos);
  viewer.opts.crosshairWidth = LINE / times;
  viewer.crosshairs3D = null;
  viewer.setPan2Dxyzmm([...mm].slice(0, 3).map((each) => each * (1 - times)).concat(times));
}

function planes(viewer) {
  const kinds = { "All planes": viewer.sliceTypeMultiplanar, Axial: viewer.sliceTypeAxial, Sagittal: viewer.sliceTypeSagittal, Coronal: viewer.sliceTypeCoronal };
  const bar = document.querySelector(".planes");
  for (const [name, kind] of Object.entries(kinds)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.ariaPressed = kind === viewer.sliceTypeMultiplanar;
    button.addEventListener("click", () => {
      for (const other of bar.querySelectorAll("button")) other.ariaPressed = other === button;
      viewer.setSliceType(kind);
    });
    bar.insertBefore(button, bar.lastElementChild);
  }
}

function lesions(viewer) {
  const rows = [...document.querySelectorAll("#lesions tbody tr")];
  rows.forEach((row, number) => {
    row.tabIndex = 0;
    const go = () => {
      for (const other of rows) other.ariaCurrent = other === row;
      to(viewer, settings.lesions[number]);
    };
    row.addEventListener("click", go);
    row.addEventListener("keydown", (event) => { if (event.key === "Enter") go(); });
  });
}

function to(viewer, voxel) {
  viewer.scene.crosshairPos = viewer.mm2frac(voxel.map((each, axis) => each * settings.spacing[axis]));
  zoom(viewer);
  viewer.createOnLocationChange();
}

// niivue draws no ruler where the patient's right is on the left, so the page has a bar that follows each drawing.
function ruled(viewer) {
  const draw = viewer.drawScene.bind(viewer), bar = document.getElementById("bar");
  viewer.drawScene = (...given) => {
    draw(...given);
    const plane = viewer.screenSlices.find((each) => each.fovMM.length > 1);
    const pixel = viewer.canvas.width / viewer.canvas.clientWidth; // of the screen, in those of the canvas
    bar.style.width = `${plane ? (settings.bar * plane.leftTopWidthHeight[2]) / Math.abs(plane.fovMM[0]) / pixel : 0}px`;
  };
}

async function start() {
  if (!document.createElement("canvas").getContext("webgl2")) throw new Error("this browser draws no WebGL 2");
  const { Niivue, NVImage, SHOW_RENDER } = await niivue();
  const viewer = new Niivue({
    isRadiologicalConvention: true, sagittalNoseLeft: true, multiplanarShowRender: SHOW_RENDER.NEVER, isSliceMM: true, multiplanarPadPixels: 16, showAllOrientationMarkers: true,
    isNearestInterpolation: true, dragAndDropEnabled: false, logLevel: "error", loadingText: "", crosshairWidth: LINE, crosshairWidthUnit: "mm", crosshairGap: 8,
    crosshairColor: [1, 1, 1, 0.5], fontColor: [1, 0.9, 0.45, 1], viewModeHotKey: "", clipPlaneHotKey: "", cycleClipPlaneHotKey: "",
  });
  await viewer.attachToCanvas(document.getElementById("scans"));
  viewer.onLocationChange = tell;
  ruled(viewer);
  for (const [number, volume] of settings.volumes.entries()) {
    viewer.addColormap(`shown_${number}`, palette(volume, !number));
    viewer.addVolume(await NVImage.loadFromBase64({ base64: volume.nifti, name: `${volume.title}.nii.gz`, colormap: `shown_${number}`, opacity: number ? 0 : 1, cal_min: 0, cal_max: volume.most }));
  }
  settings.volumes.forEach((volume, number) => number && overlay(viewer, volume, number));
  both();
  planes(viewer);
  document.getElementById("zoom").addEventListener("input", () => zoom(viewer));
  lesions(viewer);
  to(viewer, settings.at);
}

start().catch((error) => { place.textContent = `The scan cannot be shown: ${error.message}.`; });
}
