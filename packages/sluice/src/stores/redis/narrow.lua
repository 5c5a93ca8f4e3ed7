--- load
local value = pcall('GET', key)
if value and type(value) ~= 'string' then
  failure = value.err
elseif value and sub(value, 1, 2) == ARGV[2] then
  «cells» = unpack_struct(FORMAT, value, 3)
  if #value > PLAIN then blocked_until = unpack_struct('<d', value, PLAIN + 1) end
else
  «cells» = «zeros»
end
--- save
local value = ARGV[2] .. pack(FORMAT, «cells»)
if blocked_until > now - keep then value = value .. pack('<d', blocked_until) end
local result = pcall('SET', key, value, 'PX', ttl)
if type(result) == 'table' and result.err then failure = result.err end
