// Tests a NestJS application in CommonJS, as the Nest CLI creates it. Runs in Jest with ts-jest, which also checks the types.
import 'reflect-metadata';
import { Controller, Get, type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createLimiter, type Decision, memory } from 'sluice';
import { RateLimitModule } from 'sluice/nest';
import { manualClock } from 'sluice/testing';
import { RateLimiterMemory } from 'sluice-compat/rate-limiter-flexible';

// The versions of Jest differ in their types, so this file declares the two globals that it uses.
declare const test: (name: string, run: () => Promise<void>) => void;
declare const expect: (value: unknown) => { toEqual(expected: unknown): void };

const clock = manualClock();
const limiter = createLimiter({ hour: '1/h' }, { store: memory({ clock }) });

@Controller()
class Home {
  @Get()
  hello(): string {
    return 'hello';
  }
}

@Module({ imports: [RateLimitModule.forRoot({ limiter })], controllers: [Home] })
class Application {}

test('a NestJS application limits its requests', async () => {
  const application: INestApplication = await NestFactory.create(Application, { logger: ['error'] });
  await application.listen(0, '127.0.0.1');
  const url = await application.getUrl();
  const status = async (): Promise<number> => (await fetch(url)).status;
  expect([await status(), await status()]).toEqual([200, 429]);
  clock.advance(3_600_000);
  expect(await status()).toEqual(200);
  await application.close();
});

test('a drop-in counts points', async () => {
  const { remainingPoints } = await new RateLimiterMemory({ points: 5, duration: 60 }).consume('alice', 2);
  const decision: Decision = limiter.peek('alice');
  expect([remainingPoints, decision.policy]).toEqual([3, 'hour']);
});
