```ts
return 3; ```
