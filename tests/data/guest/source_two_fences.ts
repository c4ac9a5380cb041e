First load it:

```ts
const a = 1;
```

Then run `it`:

```ts
return a + 2;
```

Output:

```
4
```
