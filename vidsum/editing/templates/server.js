// requests to `vidsum edit`, in order; a change names the state that the page shows, and fails if it is not the last
let revision = null, last = Promise.resolve();
const request = async (path, options) => {
  const response = await fetch(path, options).catch(() => {
    throw new Error("The server does not answer. Is vidsum edit still running? No decision is lost: start it again.");
  });
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.error), { isStale: response.status === 412 });
  revision = answer.revision ?? revision;
  return answer;
};
const inOrder = work => {
  const next = last.then(work);
  last = next.catch(() => {});
  return next;
};
const post = (path, document) => inOrder(() => request(path, {
  method: "POST", headers: { "Content-Type": "application/json", "If-Match": revision }, body: JSON.stringify(document) }));
const get = path => request(path);
const load = () => inOrder(() => request("/api/edit"));

export { get, load, post };
