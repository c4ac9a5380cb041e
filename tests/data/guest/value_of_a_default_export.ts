export const limit = 3;

export default async function () {
  return limit;
}
