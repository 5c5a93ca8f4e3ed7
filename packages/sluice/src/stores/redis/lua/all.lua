-- Decides takes of several plans in one step: all of them are charged, or none. For each combination of plans, all-script.ts
-- combines this file with the full paths of the plans.
--
-- KEYS: one per hit, all different.
-- ARGV: 1 the time in milliseconds if an injected clock replaces the server's, or empty; with an x in front for clients that
--         exchange text
--       2 the number of plans
--       then the head of each plan, as in main.lua, in hexadecimal for clients that exchange text
--       then one word per hit: the index of its plan, the index of the plan's full path, and the word of main.lua, which is a
--         take in mode 'whole', or a peek.
--
-- Returns an array with a reply for each hit, as main.lua returns it for a single hit. If a hit is denied, the others are peeks.

local pack, sub, match = struct.pack, string.sub, string.match

local time = redis.call('TIME')
local clock = time[1] * 1000 + time[2] / 1000 -- the server's time, by which values expire
local now, keep = clock, 0 -- keep: how much longer than necessary a row is kept
local options, count = ARGV[1], ARGV[2] + 0
local hex = sub(options, 1, 1) == 'x'
if hex then options = sub(options, 2) end
if options ~= '' then now, keep = options + 0, 86400000 end

local full_paths = {}
-- @insert full paths

local deciders, words = {}, {}
local by_plan = {}
for j = 1, #KEYS do
  local plan, path, word = match(ARGV[2 + count + j], '^(%d+) (%d+) (.*)$')
  if not by_plan[plan] then
    local head = ARGV[2 + plan]
    if hex then head = string.gsub(head, '..', function(digits) return string.char(tonumber(digits, 16)) end) end
    by_plan[plan] = full_paths[path + 0](sub(head, 1, 3), clock, now, keep, head)
  end
  deciders[j], words[j] = by_plan[plan], word
end

-- Decides on a hit. Returns the server's error, if there is one, and whether the hit passed.
local replies = {}
local function decide(j, word)
  local outcome, report, failure = deciders[j](KEYS[j], word)
  if failure then return failure end
  local reply = pack('<d', now) .. outcome .. report
  if hex then
    reply = string.gsub(reply, '.', function(c) return string.format('%02x', string.byte(c)) end)
  end
  replies[j] = reply
  -- The detailed outcome of a peek is followed by 1 or 0 as a double.
  return nil, sub(outcome, 1, 1) == '1' or sub(outcome, 2, 9) == pack('<d', 1)
end

local denied
for j = 1, #KEYS do
  local peek = words[j]
  if sub(peek, 1, 1) ~= 'k' then peek = 'k' .. peek end
  local failure, passed = decide(j, peek)
  if failure then return { err = failure } end
  if not passed then denied = denied or j end
end
-- A denied hit is actually taken, so that a penalty counts the denial.
for j = denied or 1, denied or #KEYS do
  local failure = decide(j, words[j])
  if failure then return { err = failure } end
end
return replies
