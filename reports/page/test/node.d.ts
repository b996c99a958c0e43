// The parts of Node that the tests use; the page's own code does not know them.
declare module "node:assert/strict" {
  const assert: {
    ok(value: unknown): void;
    equal(actual: unknown, expected: unknown): void;
    deepEqual(actual: unknown, expected: unknown): void;
    throws(act: () => void, error: unknown): void;
  };
  export default assert;
}
declare module "node:test" {
  export function describe(name: string, body: () => void): void;
  export function test(name: string, body: () => void): void;
}
