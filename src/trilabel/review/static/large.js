// An image at its largest, or where the model sees the class in it.

const dialog = document.getElementById("large");
const image = dialog.querySelector("img");
const note = dialog.querySelector("p");
const { base, version } = document.body.dataset;

export const mapAddress = ({ dataset }) => `${base}/map/${dataset.row}/${dataset.column}?v=${version}`;

function load(address, text) {
  note.textContent = text;
  image.onload = () => { note.textContent = ""; };
  image.onerror = () => { note.textContent = "cannot be shown"; };
  image.src = address;
}

export function enlarge(place, map = false) {
  const large = place.querySelector("img").getAttribute("src").replace("/small", "/large");
  const show = (asMap) => load(asMap ? mapAddress(place) : large, asMap ? "drawing where the model sees it …" : "");
  let asMap = map;
  show(asMap);
  dialog.onkeydown = (event) => {
    if (event.key === "m") show(asMap = !asMap);
    else if (event.key === "z") dialog.close();
    else return;
    event.stopPropagation();
  };
  dialog.onclick = () => dialog.close();
  dialog.showModal();
}
