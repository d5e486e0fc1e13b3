// The link's secret is behind the #, which the browser sends to nobody. It is
// put into the form, and taken out of the address.
const form = document.getElementById("open");
const secret = location.hash.slice(1);
if (form && secret) {
  form.elements.code.value = secret;
  history.replaceState(null, "", location.pathname);
  form.submit();
}
