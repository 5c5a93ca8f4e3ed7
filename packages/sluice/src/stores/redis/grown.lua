-- Rows that grow: entries of (time, sum) in the value itself, read and written one by one.
--- functions
local function entry_at(g, i)
  if g.times[i] then return end
  local from = g.position + 16 * i
  g.times[i], g.sums[i] = unpack_struct('<dd', call('GETRANGE', g.key, from, from + 15))
end

local function time_at(g, i)
  entry_at(g, i)
  return g.times[i]
end

local function sum_at(g, i)
  entry_at(g, i)
  return g.sums[i]
end

local grown -- the rows of the key at hand

-- Writes the value anew, each row with room for what it holds once more.
local function make_room(g)
  local position = LENGTH
  local parts = { string.rep('\0', LENGTH) }
  for _, one in ipairs(grown) do
    local live = one.tail - one.head
    local bytes = ''
    if live > 0 then
      bytes = call('GETRANGE', one.key, one.position + 16 * one.head, one.position + 16 * one.tail - 1)
    end
    if one == g or one.head > 0 then one.capacity = max(2 * live, 3) + 1 end
    parts[#parts + 1] = bytes
    parts[#parts + 1] = string.rep('\0', 16 * one.capacity - #bytes)
    one.position, one.head, one.tail, one.times, one.sums = position, 0, live, {}, {}
    position = position + 16 * one.capacity
  end
  call('SET', g.key, table.concat(parts), 'KEEPTTL')
end

local function put_at(g, i, time, sum)
  if i >= g.capacity then
    make_room(g)
    i = g.tail
  end
  call('SETRANGE', g.key, g.position + 16 * i, pack('<dd', time, sum))
  g.times[i], g.sums[i] = time, sum
end

local function new_row(key)
  return { key = key, head = 0, tail = 0, base = 0, position = LENGTH, capacity = 0, times = {}, sums = {} }
end

local function row_at(g, value, at)
  g.head, g.tail, g.base, g.position, g.capacity = unpack_struct('<ddddd', value, at)
end

local function row_bytes(g)
  return pack('<ddddd', g.head, g.tail, g.base, g.position, g.capacity)
end
--- load
local value = pcall('GETRANGE', key, 0, LENGTH - 1)
if type(value) == 'table' then
  failure = value.err
else
  «new rows»
  grown = { «rows» }
  «stored» = «zeros»
  if sub(value, 1, 2) == '!!' and #value >= 10 then
    blocked_until = unpack_struct('<d', value, 3)
    if #value == LENGTH and sub(value, 11, 13) == mark then
      «stored» = unpack_struct(STORED, value, 14)
      «read rows»
    end
  end
end
--- report
report = pack(REPORT, «numbers»)
--- save
local header = '!!' .. pack('<d', blocked_until) .. mark .. pack(STORED, «stored») .. «row bytes»
local result = pcall('SETRANGE', key, 0, header)
if not lasts and type(result) ~= 'table' then result = pcall('PEXPIREAT', key, expires) end
if type(result) == 'table' and result.err then failure = result.err end
