const text = `
\`\`\`ts
return 1;
\`\`\`
`;
return text.length;
