```js
return 1;
