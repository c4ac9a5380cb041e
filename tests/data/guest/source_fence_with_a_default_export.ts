```ts title="a b"
export default async () => {
  return 3;
};
```
