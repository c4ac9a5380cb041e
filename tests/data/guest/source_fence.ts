```ts
const answer: number = 42;
return answer;
```
