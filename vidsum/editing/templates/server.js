// requests to `vidsum edit`, one after the other, so that decisions arrive in their order
const request = async (path, options) => {
  const response = await fetch(path, options).catch(() => {
    throw new Error("The server does not answer. Is vidsum edit still running? No decision is lost: start it again.");
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
};
let last = Promise.resolve();
const post = (path, document) => {
  const next = last.then(() => request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(document) }));
  last = next.catch(() => {});
  return next;
};
const get = path => request(path);

export { get, post };
