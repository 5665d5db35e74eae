// Saves a file from the page, for every control that offers one.
window.pyscale.save = (name, file) => {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(file), download: name });
  link.click();
  // A browser may read the address only after the click.
  setTimeout(() => URL.revokeObjectURL(link.href));
};
