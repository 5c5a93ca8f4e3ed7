// @ts-check
// A vitest reporter that prints nothing: writes the counts to the file named by SLUICE_TEST_COUNTS, for scripts/test.mjs.

import { writeFileSync } from 'node:fs';

/** @typedef {{ passed: number, failed: number, skipped: string[] }} Counts */

export default class CountReporter {
  /**
   * @param {readonly import('vitest/node').TestModule[]} modules
   * @param {readonly unknown[]} unhandledErrors
   */
  onTestRunEnd(modules, unhandledErrors) {
    /** @type {Counts} */
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: [] };
    for (const module of modules) {
      let failedInside = 0;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') counts.passed++;
        else if (state === 'failed') failedInside++;
        else counts.skipped.push(`${module.relativeModuleId} > ${test.fullName}`);
      }
      // A file that cannot be loaded, or whose hook throws, failed without a failed test.
      counts.failed += failedInside === 0 && module.state() === 'failed' ? 1 : failedInside;
    }
    const file = process.env['SLUICE_TEST_COUNTS'];
    if (file) writeFileSync(file, JSON.stringify(counts));
  }
}
