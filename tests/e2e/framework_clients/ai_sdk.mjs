// The AI SDK: generateObject, streamObject and a tool, over chat completions and over Responses; and OpenAI's own SDK for node.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
const require = createRequire(process.env.CLIENT_MODULES + "/");
const load = name => import(pathToFileURL(require.resolve(name)));
const { generateObject, generateText, stepCountIs, streamObject, tool } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
const { z } = await load("zod");

const place = z.object({ city: z.string(), size: z.number().int() });
const weather = tool({ description: "The weather of a city", inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => "12 degrees in " + city });
const baseURL = process.env.OPENAI_BASE_URL, apiKey = process.env.OPENAI_API_KEY;
const openai = createOpenAI({ baseURL, apiKey });
const models = {
  chat: openai.chat("sandpiper"), responses: openai.responses("sandpiper"),
  compatible: createOpenAICompatible({ name: "sandpiper", baseURL, apiKey, supportsStructuredOutputs: true })("sandpiper"),
};
for (const [name, model] of Object.entries(models)) {
  console.log(name, JSON.stringify((await generateObject({ model, schema: place, prompt: "Ulm?", maxRetries: 0 })).object));
  const stream = streamObject({ model, schema: place, prompt: "Ulm?", maxRetries: 0 });
  for await (const part of stream.partialObjectStream) void part;
  console.log(name, JSON.stringify(await stream.object));
  console.log(name, (await generateText({ model, tools: { weather }, stopWhen: stepCountIs(3), prompt: "Warm?", maxRetries: 0 })).text);
}
const OpenAI = (await load("openai")).default;
const said = await new OpenAI({ maxRetries: 0 }).chat.completions.create({ model: "sandpiper", messages: [{ role: "user", content: "q" }], response_format: { type: "json_object" } });
console.log("openai", said.choices[0].message.content);
