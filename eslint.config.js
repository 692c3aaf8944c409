import { defineConfig, globalIgnores } from 'eslint/config';
import rxjsX from 'eslint-plugin-rxjs-x';
import tseslint from 'typescript-eslint';

export default defineConfig(
  globalIgnores(['dist/', 'build/', 'coverage/', 'prebuilds/', '.cache/', 'native/']),
  {
    files: ['src/**/*.ts', 'marble-tests/**/*.ts', 'vitest.config.ts'],
    extends: [tseslint.configs.strictTypeChecked, rxjsX.configs.strict],
    languageOptions: {
      parserOptions: {
        project: ['tsconfig.test.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      // Arguments are checked although their types say that there is no need: callers may not have types.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      '@typescript-eslint/prefer-promise-reject-errors': ['error', { allowThrowingUnknown: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // An operator passes on what its source or a project function threw, whatever that is.
      'rxjs-x/throw-error': ['error', { allowThrowingAny: false, allowThrowingUnknown: true }],
      // A stream that ends without a value is an error, and firstValueFrom says so.
      'rxjs-x/no-ignored-default-value': 'off',
    },
  },
  {
    files: ['marble-tests/**/*.ts'],
    rules: {
      // Tests hold operators to what their sources do, these included.
      'rxjs-x/no-ignored-error': 'off',
      'rxjs-x/no-nested-subscribe': 'off',
      '@typescript-eslint/explicit-module-boundary-types': 'off',
      '@typescript-eslint/no-confusing-void-expression': 'off',
    },
  },
);
