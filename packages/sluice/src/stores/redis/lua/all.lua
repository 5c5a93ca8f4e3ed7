-- Decides takes of several plans in one step: all of them are charged, or none. For each combination of plans, script.ts
-- combines this file with the lean and full paths of these plans.
--
-- KEYS: one per hit, all different.
-- ARGV: 1 the time in milliseconds if an injected clock replaces the server's, or empty; with an x in front for clients that
--         exchange text
--       2 the number of plans
--       then the head of each plan, as in main.lua, in hexadecimal for clients that exchange text
--       then one word per hit: the index of its plan, the index of the plan's paths, and the word of main.lua, which is a take
--         in mode 'whole', or a peek
--
-- Returns an array with a reply for each hit, as main.lua returns it for a single hit. If a hit is denied, the replies for the
-- other hits are the replies to peeks.

local call, pcall, pack, unpack_struct, sub = redis.call, redis.pcall, struct.pack, struct.unpack, string.sub

local time = call('TIME')
local clock = time[1] * 1000 + time[2] / 1000 -- the server's time, by which values expire
local now, keep = clock, 0 -- keep: how much longer than necessary a row is kept
local options, count = ARGV[1], ARGV[2] + 0
local hex = sub(options, 1, 1) == 'x'
if hex then options = sub(options, 2) end
if options ~= '' then now, keep = options + 0, 86400000 end

-- The lean path of a plan, if it has one, takes the head, the key, the cost, and whether to peek. The full path is the same as in
-- main.lua.
local lean_paths, full_paths = {}, {}
-- @insert paths

local heads, deciders = {}, {}
for plan = 1, count do
  local head = ARGV[2 + plan]
  if hex then head = string.gsub(head, '..', function(digits) return string.char(tonumber(digits, 16)) end) end
  heads[plan] = head
end

-- Decides on a hit. Returns the server's error, if there is one, and whether the hit passed.
local replies = {}
local function decide(j, is_peek)
  local plan, path, word = string.match(ARGV[2 + count + j], '^(%d+) (%d+) (.*)$')
  plan, path = plan + 0, path + 0
  if sub(word, 1, 1) == 'k' then word, is_peek = sub(word, 2), true end
  local head, cost, lean = heads[plan], tonumber(word), lean_paths[path]
  local outcome, report, failure
  if lean and cost then outcome, report, failure = lean(head, KEYS[j], cost, is_peek) end
  if not outcome and not failure then
    deciders[plan] = deciders[plan] or full_paths[path](sub(head, 1, 3), clock, now, keep, head)
    if is_peek then word = 'k' .. word end
    outcome, report, failure = deciders[plan](KEYS[j], word)
  end
  if failure then return failure end
  local reply = pack('<d', now) .. outcome .. report
  if hex then
    reply = string.gsub(reply, '.', function(c) return string.format('%02x', string.byte(c)) end)
  end
  replies[j] = reply
  -- After an outcome of 2, the double that follows says whether the hit passed.
  local letter = sub(outcome, 1, 1)
  return nil, letter == '1' or letter == '4' or (letter == '2' and unpack_struct('<d', outcome, 2) == 1)
end

local denied
for j = 1, #KEYS do
  local failure, passed = decide(j, true)
  if failure then return { err = failure } end
  if not passed then denied = denied or j end
end
-- If no hit is denied, takes all of them. Otherwise, takes only the first denied hit, so that a penalty policy counts the denial.
for j = denied or 1, denied or #KEYS do
  local failure = decide(j, false)
  if failure then return { err = failure } end
end
return replies
