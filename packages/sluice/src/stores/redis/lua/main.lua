-- Decides the hits of one plan, one after the other. For each plan, script.ts combines this file, the full path and the lean
-- path into one script, which is all the Lua that Redis runs.
--
-- KEYS: one per hit.
-- ARGV: 1 the head, packed: the mark, three bytes that stand for the plan's signature; then as doubles the cost of every hit,
--         the policies' params in order, and the numbers that inherit.lua needs. The cost is -1 unless every hit is a take
--         in mode 'whole' with the same cost. Text may follow: a d if the keys are all different, and the time in
--         milliseconds, if an injected clock replaces the server's
--       then, if the cost is -1, one word per hit, or a single one if all are equal. A take in mode 'whole' is its cost
--         alone. Any other hit is a letter for the verb or mode, and the cost. A cost is a number, or a number for each
--         policy, separated by commas. After a space, there may be a second part. For r (reserve), b (block) and a (take in
--         mode 'always'), it is the span. For n (renew), f (refund), s (settle) and l (release), it is the instant of the
--         charge, if it is known, with @ in front of an instant that must be checked. After another space, there may be
--         the units that each policy must keep free, separated by commas.
--       Clients that exchange text instead of bytes send an x first and the head in hexadecimal. The reply to them is also
--         in hexadecimal.
--
-- A row is the mark, then as doubles the instant at which it expires by the server's clock, the cells, and the signatures
-- of inherit.lua. Most values are just a row. While a key is manually blocked, or several versions of a limiter (plans with
-- different marks) use it, the value is a frame of sections: !!, then as doubles the end of the manual block and the latest
-- expiry; then a section for each version: its row, but with one more double after the mark, the number of bytes that follow. A
-- version changes only its own section. Plans with variable-length rows always write a frame. In their sections, the cells are
-- followed by (head, tail, base, position, capacity) of each such row, and then by the entries; positions are relative to the
-- beginning of the section.
--
-- Returns the time as a double, then for each hit one of these characters and what follows it:
--   0, 1  a take or peek that did not pass, or passed; then what `report` returns
--   3, 4  a take or peek that did not pass, or passed; then the row as it is stored
--   2     any other hit; then as doubles allowed (1 or 0), taken, the remaining time of a manual block, the delay of a
--         booked turn, and what each policy was charged; then what `report` returns
-- If hits failed, returns an array instead: the above without the failed hits, and then the index and the error of each failed
-- hit.

local call, pcall, pack, unpack_struct = redis.call, redis.pcall, struct.pack, struct.unpack

local time = call('TIME')
local clock = time[1] * 1000 + time[2] / 1000 -- the server's time, by which values expire
local now, keep = clock, 0 -- keep: how much longer than necessary a row is kept
local head, first_word = ARGV[1], 1
local hex, distinct
if #head ~= HEAD_LENGTH then
  if head == 'x' then
    hex, first_word = true, 2
    head = string.gsub(ARGV[2], '..', function(digits) return string.char(tonumber(digits, 16)) end)
  end
  local options = string.sub(head, HEAD_LENGTH + 1)
  distinct = string.sub(options, 1, 1) == 'd'
  if distinct then options = string.sub(options, 2) end
  -- An injected clock may stand still or go back, but values expire by the server's clock.
  if options ~= '' then now, keep = options + 0, 86400000 end
end

-- @insert setup
local out, size, failed = nil, 1, nil
local word, is_peek, decide

for j = 1, #KEYS do
  local key = KEYS[j]
  local outcome, report, failure
  -- A hit without its own word uses the previous hit's word.
  local own = ARGV[first_word + j]
  if own and own ~= word then
    word, cost, is_peek = own, tonumber(own), false
    if not cost and string.sub(word, 1, 1) == 'k' then cost, is_peek = tonumber(string.sub(word, 2)), true end
  end
  -- @insert lean
  if not outcome and not failure then
    if not decide then
      -- @insert full path
      decide = full_path(mark, clock, now, keep, head)
    end
    outcome, report, failure = decide(key, word, cost)
  end
  if failure then
    failed = failed or {}
    failed[#failed + 1], failed[#failed + 2] = j, failure
  elseif not KEYS[2] and not hex then
    return pack('<d', now) .. outcome .. report
  else
    out = out or { pack('<d', now) }
    out[size + 1], out[size + 2], size = outcome, report, size + 2
  end
end

local reply = table.concat(out or { pack('<d', now) })
if hex then
  reply = string.gsub(reply, '.', function(c) return string.format('%02x', string.byte(c)) end)
end
if failed then return { reply, unpack(failed) } end
return reply
